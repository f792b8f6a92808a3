-- A database of outkey 0.1.0, written by the code of that version with the commands of
-- its handbook. All secrets, users and keys in it are invented for tests.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE TYPE public.procrastinate_job_event_type AS ENUM (
    'deferred',
    'started',
    'deferred_for_retry',
    'failed',
    'succeeded',
    'cancelled',
    'abort_requested',
    'aborted',
    'scheduled',
    'retried'
);
CREATE TYPE public.procrastinate_job_status AS ENUM (
    'todo',
    'doing',
    'succeeded',
    'failed',
    'cancelled',
    'aborting',
    'aborted'
);
CREATE TYPE public.procrastinate_job_to_defer_v1 AS (
	queue_name character varying,
	task_name character varying,
	priority integer,
	lock text,
	queueing_lock text,
	args jsonb,
	scheduled_at timestamp with time zone
);
CREATE FUNCTION public.procrastinate_cancel_job_v1(job_id bigint, abort boolean, delete_job boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status = 'todo'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        IF abort THEN
            UPDATE procrastinate_jobs
            SET abort_requested = true,
                status = CASE status
                    WHEN 'todo' THEN 'cancelled'::procrastinate_job_status ELSE status
                END
            WHERE id = job_id AND status IN ('todo', 'doing')
            RETURNING id INTO _job_id;
        ELSE
            UPDATE procrastinate_jobs
            SET status = 'cancelled'::procrastinate_job_status
            WHERE id = job_id AND status = 'todo'
            RETURNING id INTO _job_id;
        END IF;
    END IF;
    RETURN _job_id;
END;
$$;
CREATE FUNCTION public.procrastinate_defer_jobs_v1(jobs public.procrastinate_job_to_defer_v1[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    job_ids bigint[];
BEGIN
    WITH inserted_jobs AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        SELECT (job).queue_name,
               (job).task_name,
               (job).priority,
               (job).lock,
               (job).queueing_lock,
               (job).args,
               (job).scheduled_at
        FROM unnest(jobs) AS job
        RETURNING id
    )
    SELECT array_agg(id) FROM inserted_jobs INTO job_ids;
    RETURN job_ids;
END;
$$;
CREATE FUNCTION public.procrastinate_defer_periodic_job_v2(_queue_name character varying, _lock character varying, _queueing_lock character varying, _task_name character varying, _priority integer, _periodic_id character varying, _defer_timestamp bigint, _args jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	_job_id bigint;
	_defer_id bigint;
BEGIN
    INSERT
        INTO procrastinate_periodic_defers (task_name, periodic_id, defer_timestamp)
        VALUES (_task_name, _periodic_id, _defer_timestamp)
        ON CONFLICT DO NOTHING
        RETURNING id into _defer_id;
    IF _defer_id IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE procrastinate_periodic_defers
        SET job_id = (
            SELECT COALESCE((
                SELECT unnest(procrastinate_defer_jobs_v1(
                    ARRAY[
                        ROW(
                            _queue_name,
                            _task_name,
                            _priority,
                            _lock,
                            _queueing_lock,
                            _args,
                            NULL::timestamptz
                        )
                    ]::procrastinate_job_to_defer_v1[]
                ))
            ), NULL)
        )
        WHERE id = _defer_id
        RETURNING job_id INTO _job_id;
    DELETE
        FROM procrastinate_periodic_defers
        USING (
            SELECT id
            FROM procrastinate_periodic_defers
            WHERE procrastinate_periodic_defers.task_name = _task_name
            AND procrastinate_periodic_defers.periodic_id = _periodic_id
            AND procrastinate_periodic_defers.defer_timestamp < _defer_timestamp
            ORDER BY id
            FOR UPDATE
        ) to_delete
        WHERE procrastinate_periodic_defers.id = to_delete.id;
    RETURN _job_id;
END;
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.procrastinate_jobs (
    id bigint NOT NULL,
    queue_name character varying(128) NOT NULL,
    task_name character varying(128) NOT NULL,
    lock text,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    status public.procrastinate_job_status DEFAULT 'todo'::public.procrastinate_job_status NOT NULL,
    scheduled_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    queueing_lock text,
    priority integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT false NOT NULL,
    worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK ((NOT ((status = 'todo'::public.procrastinate_job_status) AND (abort_requested = true))))
);
CREATE FUNCTION public.procrastinate_fetch_job_v2(target_queue_names character varying[], p_worker_id bigint) RETURNS public.procrastinate_jobs
    LANGUAGE plpgsql
    AS $$
DECLARE
	found_jobs procrastinate_jobs;
BEGIN
    WITH candidate AS (
        SELECT jobs.*
            FROM procrastinate_jobs AS jobs
            WHERE
                -- reject the job if its lock has earlier or higher priority jobs
                NOT EXISTS (
                    SELECT 1
                        FROM procrastinate_jobs AS other_jobs
                        WHERE
                            jobs.lock IS NOT NULL
                            AND other_jobs.lock = jobs.lock
                            AND (
                                -- job with same lock is already running
                                other_jobs.status = 'doing'
                                OR
                                -- job with same lock is waiting and has higher priority (or same priority but was queued first)
                                (
                                    other_jobs.status = 'todo'
                                    AND (
                                        other_jobs.priority > jobs.priority
                                        OR (
                                        other_jobs.priority = jobs.priority
                                        AND other_jobs.id < jobs.id
                                        )
                                    )
                                )
                            )
                )
                AND jobs.status = 'todo'
                AND (target_queue_names IS NULL OR jobs.queue_name = ANY( target_queue_names ))
                AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
            ORDER BY jobs.priority DESC, jobs.id ASC LIMIT 1
            FOR UPDATE OF jobs SKIP LOCKED
    )
    UPDATE procrastinate_jobs
        SET status = 'doing', worker_id = p_worker_id
        FROM candidate
        WHERE procrastinate_jobs.id = candidate.id
        RETURNING procrastinate_jobs.* INTO found_jobs;
 RETURN found_jobs;
END;
$$;
CREATE FUNCTION public.procrastinate_finish_job_v1(job_id bigint, end_status public.procrastinate_job_status, delete_job boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF end_status NOT IN ('succeeded', 'failed', 'aborted') THEN
        RAISE 'End status should be either "succeeded", "failed" or "aborted" (job id: %)', job_id;
    END IF;
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = end_status,
            abort_requested = false,
            attempts = CASE status
                WHEN 'doing' THEN attempts + 1 ELSE attempts
            END
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" or "todo" status (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_notify_queue_abort_job_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_notify_queue_job_inserted_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_prune_stalled_workers_v1(seconds_since_heartbeat double precision) RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    DELETE FROM procrastinate_workers
    WHERE last_heartbeat < NOW() - (seconds_since_heartbeat || 'SECOND')::INTERVAL
    RETURNING procrastinate_workers.id;
END;
$$;
CREATE FUNCTION public.procrastinate_register_worker_v1() RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT INTO procrastinate_workers DEFAULT VALUES
    RETURNING procrastinate_workers.id;
END;
$$;
CREATE FUNCTION public.procrastinate_retry_job_v1(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
BEGIN
    SELECT abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status = 'doing'
    FOR UPDATE
    INTO _abort_requested;
    IF _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" status (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_retry_job_v2(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
    _current_status procrastinate_job_status;
BEGIN
    SELECT status, abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status IN ('doing', 'failed')
    FOR UPDATE
    INTO _current_status, _abort_requested;
    IF _current_status = 'doing' AND _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status IN ('doing', 'failed')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or has an invalid status to retry (job id: %)', job_id;
    END IF;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'abort_requested'::procrastinate_job_event_type);
    RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type, at)
        VALUES (NEW.id, 'scheduled'::procrastinate_job_event_type, NEW.scheduled_at);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'deferred'::procrastinate_job_event_type);
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_trigger_function_status_events_update_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH t AS (
        SELECT CASE
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND NEW.status = 'doing'::procrastinate_job_status
                THEN 'started'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'deferred_for_retry'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'failed'::procrastinate_job_status
                THEN 'failed'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'succeeded'::procrastinate_job_status
                THEN 'succeeded'::procrastinate_job_event_type
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND (
                    NEW.status = 'cancelled'::procrastinate_job_status
                    OR NEW.status = 'failed'::procrastinate_job_status
                    OR NEW.status = 'succeeded'::procrastinate_job_status
                )
                THEN 'cancelled'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'aborted'::procrastinate_job_status
                THEN 'aborted'::procrastinate_job_event_type
            WHEN OLD.status = 'failed'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'retried'::procrastinate_job_event_type
            ELSE NULL
        END as event_type
    )
    INSERT INTO procrastinate_events(job_id, type)
        SELECT NEW.id, t.event_type
        FROM t
        WHERE t.event_type IS NOT NULL;
	RETURN NEW;
END;
$$;
CREATE FUNCTION public.procrastinate_unlink_periodic_defers_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_periodic_defers
    SET job_id = NULL
    WHERE job_id = OLD.id;
    RETURN OLD;
END;
$$;
CREATE FUNCTION public.procrastinate_unregister_worker_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM procrastinate_workers
    WHERE id = worker_id;
END;
$$;
CREATE FUNCTION public.procrastinate_update_heartbeat_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_workers
    SET last_heartbeat = NOW()
    WHERE id = worker_id;
END;
$$;
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id integer NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user (
    id integer NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(150) NOT NULL,
    first_name character varying(150) NOT NULL,
    last_name character varying(150) NOT NULL,
    email character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL
);
CREATE TABLE public.auth_user_groups (
    id integer NOT NULL,
    user_id integer NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.auth_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.auth_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_user_user_permissions (
    id integer NOT NULL,
    user_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accessattempt (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    get_data text NOT NULL,
    post_data text NOT NULL,
    failures_since_start integer NOT NULL,
    CONSTRAINT axes_accessattempt_failures_since_start_check CHECK ((failures_since_start >= 0))
);
ALTER TABLE public.axes_accessattempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessattempt_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accessattemptexpiration (
    access_attempt_id integer NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.axes_accessfailurelog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    locked_out boolean NOT NULL
);
ALTER TABLE public.axes_accessfailurelog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accessfailurelog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.axes_accesslog (
    id integer NOT NULL,
    user_agent character varying(255) NOT NULL,
    ip_address inet,
    username character varying(255),
    http_accept character varying(1025) NOT NULL,
    path_info character varying(255) NOT NULL,
    attempt_time timestamp with time zone NOT NULL,
    logout_time timestamp with time zone,
    session_hash character varying(64) NOT NULL
);
ALTER TABLE public.axes_accesslog ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.axes_accesslog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.demo_contact (
    id bigint NOT NULL,
    external_id character varying(40) NOT NULL,
    name character varying(80) NOT NULL,
    email character varying(254) NOT NULL,
    kind character varying(10) NOT NULL,
    credit numeric(10,2),
    born_on date,
    active boolean NOT NULL,
    portal_password character varying(80) NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
ALTER TABLE public.demo_contact ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.demo_contact_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.demo_order (
    id bigint NOT NULL,
    year smallint NOT NULL,
    number integer NOT NULL,
    ordered_at timestamp with time zone,
    weight double precision,
    details jsonb NOT NULL,
    note text NOT NULL,
    reference character varying(20),
    contact_id bigint,
    CONSTRAINT demo_order_number_check CHECK ((number >= 0)),
    CONSTRAINT demo_order_year_check CHECK ((year >= 0))
);
ALTER TABLE public.demo_order ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.demo_order_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_admin_log (
    id integer NOT NULL,
    action_time timestamp with time zone NOT NULL,
    object_id text,
    object_repr character varying(200) NOT NULL,
    action_flag smallint NOT NULL,
    change_message text NOT NULL,
    content_type_id integer,
    user_id integer NOT NULL,
    CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE public.django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_admin_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id integer NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.outkey_auditrecord (
    id bigint NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    configuration character varying(200) NOT NULL,
    outcome character varying(40) NOT NULL,
    body bytea NOT NULL,
    mac bytea NOT NULL,
    stream_id bigint NOT NULL,
    CONSTRAINT outkey_auditrecord_at_check CHECK ((at >= 0)),
    CONSTRAINT outkey_auditrecord_number_check CHECK ((number >= 0))
);
ALTER TABLE public.outkey_auditrecord ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_auditrecord_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_configuration (
    id uuid NOT NULL,
    version integer NOT NULL,
    revision integer NOT NULL,
    name character varying(200) NOT NULL,
    base_url character varying(2000) NOT NULL,
    environment character varying(20) NOT NULL,
    network character varying(20) NOT NULL,
    active boolean NOT NULL,
    authentication_type character varying(20) NOT NULL,
    settings jsonb NOT NULL,
    needs_secret boolean NOT NULL,
    stores_secret boolean NOT NULL,
    needs_person boolean NOT NULL,
    expires_on date,
    tested_revision integer,
    tested_at double precision,
    verified_at double precision,
    cause character varying(40) NOT NULL,
    seen jsonb NOT NULL,
    refused integer NOT NULL,
    paused_at double precision,
    CONSTRAINT outkey_configuration_refused_check CHECK ((refused >= 0)),
    CONSTRAINT outkey_configuration_revision_check CHECK ((revision >= 0)),
    CONSTRAINT outkey_configuration_tested_revision_check CHECK ((tested_revision >= 0)),
    CONSTRAINT outkey_configuration_version_check CHECK ((version >= 0))
);
CREATE TABLE public.outkey_duty (
    name character varying(20) NOT NULL,
    holder character varying(40) NOT NULL,
    until double precision NOT NULL,
    "position" bigint,
    CONSTRAINT outkey_duty_position_check CHECK (("position" >= 0))
);
CREATE TABLE public.outkey_habit (
    configuration character varying(200) NOT NULL,
    facts jsonb NOT NULL
);
CREATE TABLE public.outkey_headerrow (
    id bigint NOT NULL,
    "position" smallint NOT NULL,
    key character varying(200) NOT NULL,
    value text NOT NULL,
    secret boolean NOT NULL,
    configuration_id uuid NOT NULL,
    CONSTRAINT outkey_headerrow_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.outkey_headerrow ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_headerrow_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_knownkey (
    key_id character varying(16) NOT NULL,
    check_value bytea NOT NULL
);
CREATE TABLE public.outkey_notice (
    id bigint NOT NULL,
    kind character varying(40) NOT NULL,
    configuration character varying(200) NOT NULL,
    about character varying(300) NOT NULL,
    opened_at double precision NOT NULL,
    closed_at double precision
);
ALTER TABLE public.outkey_notice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_notice_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_pace (
    configuration character varying(200) NOT NULL,
    drained_at double precision NOT NULL,
    quiet_until double precision NOT NULL
);
CREATE TABLE public.outkey_process (
    id character varying(40) NOT NULL,
    host character varying(255) NOT NULL,
    seen_at double precision NOT NULL,
    keys jsonb NOT NULL
);
CREATE TABLE public.outkey_quarantine (
    id bigint NOT NULL,
    number bigint NOT NULL,
    key character varying(200) NOT NULL,
    field text NOT NULL,
    reason text NOT NULL,
    run_id bigint NOT NULL,
    CONSTRAINT outkey_quarantine_number_check CHECK ((number >= 0))
);
ALTER TABLE public.outkey_quarantine ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_quarantine_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_run (
    id bigint NOT NULL,
    digest character varying(64) NOT NULL,
    actor character varying(150) NOT NULL,
    state character varying(10) NOT NULL,
    dry_run boolean NOT NULL,
    checkpoint text NOT NULL,
    counts jsonb NOT NULL,
    pages bigint NOT NULL,
    started_at double precision NOT NULL,
    ended_at double precision,
    cause text NOT NULL,
    generation bigint NOT NULL,
    until double precision NOT NULL,
    attempt smallint NOT NULL,
    line_id bigint NOT NULL,
    CONSTRAINT outkey_run_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT outkey_run_generation_check CHECK ((generation >= 0)),
    CONSTRAINT outkey_run_pages_check CHECK ((pages >= 0))
);
ALTER TABLE public.outkey_run ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_secretvalue (
    id bigint NOT NULL,
    field character varying(250) NOT NULL,
    set_by character varying(150) NOT NULL,
    version integer NOT NULL,
    label character varying(10) NOT NULL,
    origin character varying(700) NOT NULL,
    reference character varying(1000) NOT NULL,
    sealed bytea,
    key_id character varying(16) NOT NULL,
    set_at double precision,
    configuration_id uuid NOT NULL,
    CONSTRAINT outkey_secretvalue_version_check CHECK ((version >= 0))
);
ALTER TABLE public.outkey_secretvalue ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_secretvalue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_stream (
    id bigint NOT NULL,
    name character varying(40) NOT NULL,
    pruned_number bigint NOT NULL,
    pruned_mac bytea NOT NULL,
    pruned_signature bytea NOT NULL,
    CONSTRAINT outkey_stream_pruned_number_check CHECK ((pruned_number >= 0))
);
ALTER TABLE public.outkey_stream ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_stream_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_syncline (
    id bigint NOT NULL,
    name character varying(200) NOT NULL,
    method character varying(20) NOT NULL,
    path character varying(2000) NOT NULL,
    sync jsonb,
    configuration_id uuid NOT NULL
);
ALTER TABLE public.outkey_syncline ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_syncline_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_syncmark (
    id bigint NOT NULL,
    target character varying(200) NOT NULL,
    record character varying(200) NOT NULL,
    run bigint NOT NULL,
    archived boolean NOT NULL,
    line_id bigint NOT NULL,
    CONSTRAINT outkey_syncmark_run_check CHECK ((run >= 0))
);
ALTER TABLE public.outkey_syncmark ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_syncmark_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_token (
    configuration_id uuid NOT NULL,
    generation integer NOT NULL,
    serial integer NOT NULL,
    origin character varying(700) NOT NULL,
    sealed bytea,
    key_id character varying(16) NOT NULL,
    facts jsonb NOT NULL,
    CONSTRAINT outkey_token_generation_check CHECK ((generation >= 0)),
    CONSTRAINT outkey_token_serial_check CHECK ((serial >= 0))
);
CREATE TABLE public.procrastinate_events (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    type public.procrastinate_job_event_type,
    at timestamp with time zone DEFAULT now()
);
CREATE SEQUENCE public.procrastinate_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_events_id_seq OWNED BY public.procrastinate_events.id;
CREATE SEQUENCE public.procrastinate_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_jobs_id_seq OWNED BY public.procrastinate_jobs.id;
CREATE TABLE public.procrastinate_periodic_defers (
    id bigint NOT NULL,
    task_name character varying(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint,
    periodic_id character varying(128) DEFAULT ''::character varying NOT NULL
);
CREATE SEQUENCE public.procrastinate_periodic_defers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.procrastinate_periodic_defers_id_seq OWNED BY public.procrastinate_periodic_defers.id;
CREATE TABLE public.procrastinate_workers (
    id bigint NOT NULL,
    last_heartbeat timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.procrastinate_workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.procrastinate_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.procrastinate_events ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_events_id_seq'::regclass);
ALTER TABLE ONLY public.procrastinate_jobs ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_jobs_id_seq'::regclass);
ALTER TABLE ONLY public.procrastinate_periodic_defers ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_periodic_defers_id_seq'::regclass);
INSERT INTO public.auth_group VALUES
	(1, 'Administrator'),
	(2, 'Operator'),
	(3, 'Auditor');
INSERT INTO public.auth_group_permissions VALUES
	(1, 1, 67),
	(2, 1, 41),
	(3, 1, 42),
	(4, 1, 43),
	(5, 1, 44),
	(6, 1, 45),
	(7, 1, 46),
	(8, 1, 47),
	(9, 1, 48),
	(10, 1, 76),
	(11, 1, 77),
	(12, 1, 78),
	(13, 1, 80),
	(14, 1, 79),
	(15, 1, 89),
	(16, 1, 58),
	(17, 1, 57),
	(18, 2, 67),
	(19, 2, 44),
	(20, 2, 45),
	(21, 2, 79),
	(22, 2, 80),
	(23, 2, 89),
	(24, 3, 89);
INSERT INTO public.auth_permission VALUES
	(1, 'Can add log entry', 1, 'add_logentry'),
	(2, 'Can change log entry', 1, 'change_logentry'),
	(3, 'Can delete log entry', 1, 'delete_logentry'),
	(4, 'Can view log entry', 1, 'view_logentry'),
	(5, 'Can add permission', 2, 'add_permission'),
	(6, 'Can change permission', 2, 'change_permission'),
	(7, 'Can delete permission', 2, 'delete_permission'),
	(8, 'Can view permission', 2, 'view_permission'),
	(9, 'Can add group', 3, 'add_group'),
	(10, 'Can change group', 3, 'change_group'),
	(11, 'Can delete group', 3, 'delete_group'),
	(12, 'Can view group', 3, 'view_group'),
	(13, 'Can add user', 4, 'add_user'),
	(14, 'Can change user', 4, 'change_user'),
	(15, 'Can delete user', 4, 'delete_user'),
	(16, 'Can view user', 4, 'view_user'),
	(17, 'Can add content type', 5, 'add_contenttype'),
	(18, 'Can change content type', 5, 'change_contenttype'),
	(19, 'Can delete content type', 5, 'delete_contenttype'),
	(20, 'Can view content type', 5, 'view_contenttype'),
	(21, 'Can add session', 6, 'add_session'),
	(22, 'Can change session', 6, 'change_session'),
	(23, 'Can delete session', 6, 'delete_session'),
	(24, 'Can view session', 6, 'view_session'),
	(25, 'Can add access attempt', 7, 'add_accessattempt'),
	(26, 'Can change access attempt', 7, 'change_accessattempt'),
	(27, 'Can delete access attempt', 7, 'delete_accessattempt'),
	(28, 'Can view access attempt', 7, 'view_accessattempt'),
	(29, 'Can add access log', 8, 'add_accesslog'),
	(30, 'Can change access log', 8, 'change_accesslog'),
	(31, 'Can delete access log', 8, 'delete_accesslog'),
	(32, 'Can view access log', 8, 'view_accesslog'),
	(33, 'Can add access failure', 9, 'add_accessfailurelog'),
	(34, 'Can change access failure', 9, 'change_accessfailurelog'),
	(35, 'Can delete access failure', 9, 'delete_accessfailurelog'),
	(36, 'Can view access failure', 9, 'view_accessfailurelog'),
	(37, 'Can add access attempt expiration', 10, 'add_accessattemptexpiration'),
	(38, 'Can change access attempt expiration', 10, 'change_accessattemptexpiration'),
	(39, 'Can delete access attempt expiration', 10, 'delete_accessattemptexpiration'),
	(40, 'Can view access attempt expiration', 10, 'view_accessattemptexpiration'),
	(41, 'Can add API Sync Configuration', 11, 'add_configuration'),
	(42, 'Can change API Sync Configuration', 11, 'change_configuration'),
	(43, 'Can delete API Sync Configuration', 11, 'delete_configuration'),
	(44, 'Can view API Sync Configuration', 11, 'view_configuration'),
	(45, 'Can test API Sync Configurations', 11, 'test_configuration'),
	(46, 'Can enter and clear secrets', 11, 'set_secret'),
	(47, 'Can allow the internal network', 11, 'use_internal_network'),
	(48, 'Can write signing scripts', 11, 'edit_script'),
	(49, 'Can add duty', 12, 'add_duty'),
	(50, 'Can change duty', 12, 'change_duty'),
	(51, 'Can delete duty', 12, 'delete_duty'),
	(52, 'Can view duty', 12, 'view_duty'),
	(53, 'Can add habit', 13, 'add_habit'),
	(54, 'Can change habit', 13, 'change_habit'),
	(55, 'Can delete habit', 13, 'delete_habit'),
	(56, 'Can view habit', 13, 'view_habit'),
	(57, 'Can view key', 14, 'view_knownkey'),
	(58, 'Can rotate keys', 14, 'rotate_keys'),
	(59, 'Can add pace', 15, 'add_pace'),
	(60, 'Can change pace', 15, 'change_pace'),
	(61, 'Can delete pace', 15, 'delete_pace'),
	(62, 'Can view pace', 15, 'view_pace'),
	(63, 'Can add process', 16, 'add_process'),
	(64, 'Can change process', 16, 'change_process'),
	(65, 'Can delete process', 16, 'delete_process'),
	(66, 'Can view process', 16, 'view_process'),
	(67, 'Can view run', 17, 'view_run'),
	(68, 'Can add stream', 18, 'add_stream'),
	(69, 'Can change stream', 18, 'change_stream'),
	(70, 'Can delete stream', 18, 'delete_stream'),
	(71, 'Can view stream', 18, 'view_stream'),
	(72, 'Can add token', 19, 'add_token'),
	(73, 'Can change token', 19, 'change_token'),
	(74, 'Can delete token', 19, 'delete_token'),
	(75, 'Can view token', 19, 'view_token'),
	(76, 'Can add Sync Line', 22, 'add_syncline'),
	(77, 'Can change Sync Line', 22, 'change_syncline'),
	(78, 'Can delete Sync Line', 22, 'delete_syncline'),
	(79, 'Can view Sync Line', 22, 'view_syncline'),
	(80, 'Can run and cancel Sync Lines', 22, 'run_syncline'),
	(81, 'Can add header row', 24, 'add_headerrow'),
	(82, 'Can change header row', 24, 'change_headerrow'),
	(83, 'Can delete header row', 24, 'delete_headerrow'),
	(84, 'Can view header row', 24, 'view_headerrow'),
	(85, 'Can add secret value', 25, 'add_secretvalue'),
	(86, 'Can change secret value', 25, 'change_secretvalue'),
	(87, 'Can delete secret value', 25, 'delete_secretvalue'),
	(88, 'Can view secret value', 25, 'view_secretvalue'),
	(89, 'Can view audit record', 26, 'view_auditrecord'),
	(90, 'Can add contact', 27, 'add_contact'),
	(91, 'Can change contact', 27, 'change_contact'),
	(92, 'Can delete contact', 27, 'delete_contact'),
	(93, 'Can view contact', 27, 'view_contact'),
	(94, 'Can add order', 28, 'add_order'),
	(95, 'Can change order', 28, 'change_order'),
	(96, 'Can delete order', 28, 'delete_order'),
	(97, 'Can view order', 28, 'view_order'),
	(98, 'Can add procrastinate event', 29, 'add_procrastinateevent'),
	(99, 'Can change procrastinate event', 29, 'change_procrastinateevent'),
	(100, 'Can delete procrastinate event', 29, 'delete_procrastinateevent'),
	(101, 'Can view procrastinate event', 29, 'view_procrastinateevent'),
	(102, 'Can add procrastinate job', 30, 'add_procrastinatejob'),
	(103, 'Can change procrastinate job', 30, 'change_procrastinatejob'),
	(104, 'Can delete procrastinate job', 30, 'delete_procrastinatejob'),
	(105, 'Can view procrastinate job', 30, 'view_procrastinatejob'),
	(106, 'Can add procrastinate periodic defer', 31, 'add_procrastinateperiodicdefer'),
	(107, 'Can change procrastinate periodic defer', 31, 'change_procrastinateperiodicdefer'),
	(108, 'Can delete procrastinate periodic defer', 31, 'delete_procrastinateperiodicdefer'),
	(109, 'Can view procrastinate periodic defer', 31, 'view_procrastinateperiodicdefer'),
	(110, 'Can add procrastinate worker', 32, 'add_procrastinateworker'),
	(111, 'Can change procrastinate worker', 32, 'change_procrastinateworker'),
	(112, 'Can delete procrastinate worker', 32, 'delete_procrastinateworker'),
	(113, 'Can view procrastinate worker', 32, 'view_procrastinateworker');
INSERT INTO public.auth_user VALUES
	(2, 'pbkdf2_sha256$1000000$0GUAK2kFMuiGmSpJUxx7pm$aX97Uudsicy6ptfOiHNZNV3UEq1OKkQiqrkHniBsoLI=', NULL, false, 'operator', '', '', '', true, true, '2026-11-17 15:16:08.365244+00'),
	(3, 'pbkdf2_sha256$1000000$n6Kr8M3XXDoccD4phvYGGh$Nl//78jDH1E1kEv9b23XxeH+4Z6PPX9M3AIXKpZY/sE=', NULL, false, 'auditor', '', '', '', true, true, '2026-11-17 15:16:12.358249+00'),
	(1, 'pbkdf2_sha256$1000000$jTEuGWPsuJXHgeAV6sZQUd$T6QVBEZBDe3ZQZcxV6EUvPYMrBeWqIaWOIi6Yy7g6zI=', '2026-11-17 15:16:21.033702+00', true, 'admin', '', '', '', true, true, '2026-11-17 15:16:04.066273+00');
INSERT INTO public.auth_user_groups VALUES
	(1, 1, 1),
	(2, 2, 2),
	(3, 3, 3);
INSERT INTO public.axes_accesslog VALUES
	(1, '<unknown>', '127.0.0.1', 'admin', '<unknown>', '/login/', '2026-11-17 15:16:21.023853+00', NULL, 'fa686f87c85eaa8c092fb934e2184cdfe11f3f416ae5bf1a569a31b9ed4e5496');
INSERT INTO public.demo_contact VALUES
	(1, 'c-1', 'First', '', '', 10.50, NULL, true, '', '2026-11-17 15:15:18.165488+00'),
	(2, 'c-2', 'Second', '', '', 0.00, NULL, true, '', '2026-11-17 15:15:18.165488+00');
INSERT INTO public.django_content_type VALUES
	(1, 'admin', 'logentry'),
	(2, 'auth', 'permission'),
	(3, 'auth', 'group'),
	(4, 'auth', 'user'),
	(5, 'contenttypes', 'contenttype'),
	(6, 'sessions', 'session'),
	(7, 'axes', 'accessattempt'),
	(8, 'axes', 'accesslog'),
	(9, 'axes', 'accessfailurelog'),
	(10, 'axes', 'accessattemptexpiration'),
	(11, 'outkey', 'configuration'),
	(12, 'outkey', 'duty'),
	(13, 'outkey', 'habit'),
	(14, 'outkey', 'knownkey'),
	(15, 'outkey', 'pace'),
	(16, 'outkey', 'process'),
	(17, 'outkey', 'run'),
	(18, 'outkey', 'stream'),
	(19, 'outkey', 'token'),
	(20, 'outkey', 'notice'),
	(21, 'outkey', 'quarantine'),
	(22, 'outkey', 'syncline'),
	(23, 'outkey', 'syncmark'),
	(24, 'outkey', 'headerrow'),
	(25, 'outkey', 'secretvalue'),
	(26, 'outkey', 'auditrecord'),
	(27, 'demo', 'contact'),
	(28, 'demo', 'order'),
	(29, 'procrastinate', 'procrastinateevent'),
	(30, 'procrastinate', 'procrastinatejob'),
	(31, 'procrastinate', 'procrastinateperiodicdefer'),
	(32, 'procrastinate', 'procrastinateworker');
INSERT INTO public.django_migrations VALUES
	(1, 'demo', '0001_initial', '2026-11-17 15:12:50.805848+00'),
	(2, 'outkey', '0001_initial', '2026-11-17 15:12:51.379233+00'),
	(3, 'outkey', '0002_vouchers', '2026-11-17 15:12:51.425583+00'),
	(4, 'procrastinate', '0001_initial', '2026-11-17 15:12:51.449864+00'),
	(5, 'procrastinate', '0002_drop_started_at_column', '2026-11-17 15:12:51.457099+00'),
	(6, 'procrastinate', '0003_drop_started_at_column', '2026-11-17 15:12:51.45949+00'),
	(7, 'procrastinate', '0004_drop_procrastinate_version_table', '2026-11-17 15:12:51.462223+00'),
	(8, 'procrastinate', '0005_fix_procrastinate_fetch_job', '2026-11-17 15:12:51.46726+00'),
	(9, 'procrastinate', '0006_fix_trigger_status_events_insert', '2026-11-17 15:12:51.472426+00'),
	(10, 'procrastinate', '0007_add_queueing_lock_column', '2026-11-17 15:12:51.475038+00'),
	(11, 'procrastinate', '0008_close_fetch_job_race_condition', '2026-11-17 15:12:51.480878+00'),
	(12, 'procrastinate', '0009_add_defer_job_function', '2026-11-17 15:12:51.483217+00'),
	(13, 'procrastinate', '0010_add_procrastinate_periodic_defers', '2026-11-17 15:12:51.492743+00'),
	(14, 'procrastinate', '0011_add_foreign_key_index', '2026-11-17 15:12:51.496096+00'),
	(15, 'procrastinate', '0012_add_locks_to_periodic_defer', '2026-11-17 15:12:51.501717+00'),
	(16, 'procrastinate', '0013_fix_procrastinate_defer_periodic_job', '2026-11-17 15:12:51.50488+00'),
	(17, 'procrastinate', '0014_add_finish_job_and_retry_job_functions', '2026-11-17 15:12:51.50682+00'),
	(18, 'procrastinate', '0015_add_trigger_on_job_deletion', '2026-11-17 15:12:51.508574+00'),
	(19, 'procrastinate', '0016_delete_finished_jobs', '2026-11-17 15:12:51.510214+00'),
	(20, 'procrastinate', '0017_add_checks_to_finish_job', '2026-11-17 15:12:51.511859+00'),
	(21, 'procrastinate', '0018_add_checks_to_retry_job', '2026-11-17 15:12:51.51342+00'),
	(22, 'procrastinate', '0019_fix_finish_job_compat_issue', '2026-11-17 15:12:51.515107+00'),
	(23, 'procrastinate', '0020_add_index_on_procrastinate_jobs', '2026-11-17 15:12:51.517254+00'),
	(24, 'procrastinate', '0021_add_kwargs_to_defer_periodic_job', '2026-11-17 15:12:51.520235+00'),
	(25, 'procrastinate', '0022_null_locks_excluded', '2026-11-17 15:12:51.531981+00'),
	(26, 'procrastinate', '0023_remove_old_finish_job_function', '2026-11-17 15:12:51.534662+00'),
	(27, 'procrastinate', '0024_job_id_bigint', '2026-11-17 15:12:51.562006+00'),
	(28, 'procrastinate', '0025_add_models', '2026-11-17 15:12:51.58255+00'),
	(29, 'procrastinate', '0026_add_job_priority', '2026-11-17 15:12:51.588663+00'),
	(30, 'procrastinate', '0027_add_periodic_job_priority', '2026-11-17 15:12:51.591155+00'),
	(31, 'procrastinate', '0028_add_cancel_states', '2026-11-17 15:12:51.599461+00'),
	(32, 'procrastinate', '0029_add_additional_params_to_retry_job', '2026-11-17 15:12:51.60178+00'),
	(33, 'procrastinate', '0030_alter_procrastinateevent_options', '2026-11-17 15:12:51.612535+00'),
	(34, 'procrastinate', '0031_add_indexes_for_fetch_job', '2026-11-17 15:12:51.617885+00'),
	(35, 'procrastinate', '0032_pre_cancel_notification', '2026-11-17 15:12:51.746981+00'),
	(36, 'procrastinate', '0033_post_cancel_notification', '2026-11-17 15:12:51.770608+00'),
	(37, 'procrastinate', '0034_pre_add_heartbeat', '2026-11-17 15:12:51.789148+00'),
	(38, 'procrastinate', '0035_post_add_heartbeat', '2026-11-17 15:12:51.79358+00'),
	(39, 'procrastinate', '0036_add_worker_model', '2026-11-17 15:12:51.802213+00'),
	(40, 'procrastinate', '0037_pre_batch_defer_jobs', '2026-11-17 15:12:51.810628+00'),
	(41, 'procrastinate', '0038_post_batch_defer_jobs', '2026-11-17 15:12:51.813682+00'),
	(42, 'procrastinate', '0039_pre_priority_lock_fetch_job', '2026-11-17 15:12:51.81801+00'),
	(43, 'procrastinate', '0040_pre_retry_failed_job', '2026-11-17 15:12:51.820852+00'),
	(44, 'procrastinate', '0041_post_retry_failed_job', '2026-11-17 15:12:51.825972+00'),
	(45, 'contenttypes', '0001_initial', '2026-11-17 15:16:00.60759+00'),
	(46, 'auth', '0001_initial', '2026-11-17 15:16:00.824621+00'),
	(47, 'admin', '0001_initial', '2026-11-17 15:16:00.909281+00'),
	(48, 'admin', '0002_logentry_remove_auto_add', '2026-11-17 15:16:00.959926+00'),
	(49, 'admin', '0003_logentry_add_action_flag_choices', '2026-11-17 15:16:01.206556+00'),
	(50, 'contenttypes', '0002_remove_content_type_name', '2026-11-17 15:16:01.441722+00'),
	(51, 'auth', '0002_alter_permission_name_max_length', '2026-11-17 15:16:01.485579+00'),
	(52, 'auth', '0003_alter_user_email_max_length', '2026-11-17 15:16:01.545437+00'),
	(53, 'auth', '0004_alter_user_username_opts', '2026-11-17 15:16:01.579923+00'),
	(54, 'auth', '0005_alter_user_last_login_null', '2026-11-17 15:16:01.658159+00'),
	(55, 'auth', '0006_require_contenttypes_0002', '2026-11-17 15:16:01.664691+00'),
	(56, 'auth', '0007_alter_validators_add_error_messages', '2026-11-17 15:16:01.719264+00'),
	(57, 'auth', '0008_alter_user_username_max_length', '2026-11-17 15:16:01.763858+00'),
	(58, 'auth', '0009_alter_user_last_name_max_length', '2026-11-17 15:16:01.789551+00'),
	(59, 'auth', '0010_alter_group_name_max_length', '2026-11-17 15:16:01.885213+00'),
	(60, 'auth', '0011_update_proxy_permissions', '2026-11-17 15:16:02.071639+00'),
	(61, 'auth', '0012_alter_user_first_name_max_length', '2026-11-17 15:16:02.132379+00'),
	(62, 'axes', '0001_initial', '2026-11-17 15:16:02.193989+00'),
	(63, 'axes', '0002_auto_20151217_2044', '2026-11-17 15:16:02.388556+00'),
	(64, 'axes', '0003_auto_20160322_0929', '2026-11-17 15:16:02.493994+00'),
	(65, 'axes', '0004_auto_20181024_1538', '2026-11-17 15:16:02.597384+00'),
	(66, 'axes', '0005_remove_accessattempt_trusted', '2026-11-17 15:16:02.612536+00'),
	(67, 'axes', '0006_remove_accesslog_trusted', '2026-11-17 15:16:02.627064+00'),
	(68, 'axes', '0007_alter_accessattempt_unique_together', '2026-11-17 15:16:02.809452+00'),
	(69, 'axes', '0008_accessfailurelog', '2026-11-17 15:16:02.848937+00'),
	(70, 'axes', '0009_add_session_hash', '2026-11-17 15:16:02.862852+00'),
	(71, 'axes', '0010_accessattemptexpiration', '2026-11-17 15:16:02.903421+00'),
	(72, 'sessions', '0001_initial', '2026-11-17 15:16:02.926038+00');
INSERT INTO public.django_session VALUES
	('fa686f87c85eaa8c092fb934e2184cdfe11f3f41', '.eJxVjDsOwjAQRO_iGlnrH1pT0nMGa9decAA5UpxUEXcnkVJANdK8N7OqRMtc09JlSkNRF2XU6bdjyi9pOyhPao9R57HN08B6V_RBu76NRd7Xw_07qNTrthYQ5zxIAIjgDEe_JUFGZle8RYpYBKMpARxbQQgIjMYQnu_WWaM-X7l0NpU:1xTKuz:qKS0iylHyH6JRSGaAL3RU63N5akikt2RD8r1E_2cDUU', '2026-11-17 23:16:21.045778+00');
INSERT INTO public.outkey_auditrecord VALUES
	(1, 1, 1794928372287, 'open', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a226f70656e222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\xa77485552a0674de5d73a5db4ad0fabc0c650b64ce2966ac784d900810ea78dd', 1),
	(2, 2, 1794928372287, 'basic', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a226261736963222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x46e029c6c65ea16f5c77c032afa4899f9c278ffccefd9839415cd54647f630b6', 1),
	(3, 3, 1794928372287, 'bearer', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a22626561726572222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\xadcd4504b4029b8db2ea009ae1117a126b7d0baa8651813f053839eb28e90404', 1),
	(4, 4, 1794928372287, 'header keys', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a22686561646572206b657973222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x99e3600c089b9ef05acecdb52bcac96c176502decd12576a93cf698c905bcdd7', 1),
	(5, 5, 1794928372287, 'script', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a22736372697074222c226669656c6473223a5b5d2c226b6579223a227363726970742036363138633639343662393336346662222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\xb4de1481cd340af16a007159dabd5f103ad31e221e49e1e141ff955bca62203d', 1),
	(6, 6, 1794928372287, 'oauth2 client', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a226f617574683220636c69656e74222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x164a57cb75a2f887179dca63e2ba63b930547299705a9a4149b206cd30748645', 1),
	(7, 7, 1794928372287, 'oauth2 refresh', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x1038a3e1710412d8ed0cffa77f2b5a7ac36d103b09ba8cb763aaefa3bfe5d725', 1),
	(8, 8, 1794928372287, 'reference', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a227265666572656e6365222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x5ff5f7ef2dac7193d14b235230585f64cb9359c89d7b6b69bef813783e891477', 1),
	(9, 9, 1794928372287, 'switched_off', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a2273776974636865645f6f6666222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x45ff55d9d869ac8a993e173223d98135cffe2da25a29286f0534622fceb62c36', 1),
	(10, 10, 1794928372287, 'failing', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323238372c22636f6e66696775726174696f6e223a226661696c696e67222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\xcb24d65d04b9a3f413b2049be4b43f7fd3faa2dddb7d206c129f09e6dda198f1', 1),
	(11, 11, 1794928372622, 'bearer', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323632322c22636f6e66696775726174696f6e223a22626561726572222c226669656c6473223a5b22636f6e7461637473225d2c226b6579223a22222c22746167223a226170693a6c696e653a6b657074227d', '\xe8f6595ae9a11b877c060da5e9f3a50fc0d75432d70b0e0999887d12312cdd56', 1),
	(12, 12, 1794928372625, 'basic', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337323632352c22636f6e66696775726174696f6e223a226261736963222c226669656c6473223a5b22636f6e7461637473206f7574225d2c226b6579223a22222c22746167223a226170693a6c696e653a6b657074227d', '\x6513e18a8091c4adc61fb84200a516140918d9c52163b0dbeac87d502e71078b', 1),
	(13, 1, 1794928379380, 'basic', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383337393338302c22636f6e66696775726174696f6e223a226261736963222c226669656c6473223a5b2270617373776f7264225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\xf319054c7d89b2536d407be2ec63204cf474cef229838999d16dbd7ce9d6085a', 2),
	(14, 1, 1794928386782, 'bearer', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383338363738322c22636f6e66696775726174696f6e223a22626561726572222c226669656c6473223a5b22746f6b656e225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x7f455c166efad684542634272a917f1bec60921e026d034ca11dddaf6ba7acfc', 3),
	(15, 1, 1794928393225, 'bearer', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383339333232352c22636f6e66696775726174696f6e223a22626561726572222c226669656c6473223a5b22746f6b656e225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x80a562f3d3c9e96be70e5345cc78cf3cab36c37929511f90814a73da2f19bca4', 4),
	(16, 1, 1794928397222, 'bearer', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383339373232322c22636f6e66696775726174696f6e223a22626561726572222c226669656c6473223a5b226865616465723a582d4150492d4b6579225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\xda4b59838b95a8b267143c0c4bf42bd96e1e91aed52859c932a1cbfb92f5c057', 5),
	(17, 1, 1794928400815, 'header keys', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383430303831352c22636f6e66696775726174696f6e223a22686561646572206b657973222c226669656c6473223a5b226865616465723a582d4150492d4b6579225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x171b2150fae9fd858dcfbc16bb6b5c4947f6a05679a5cab54f8399854d4ebd1c', 6),
	(18, 1, 1794928405988, 'header keys', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383430353938382c22636f6e66696775726174696f6e223a22686561646572206b657973222c226669656c6473223a5b226865616465723a582d5365636f6e642d4b6579225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x2f9a7f838804ec9ba9324de5b0385a2254b9c377f6243a6c22dfbb809b52e144', 7),
	(19, 1, 1794928410148, 'script', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383431303134382c22636f6e66696775726174696f6e223a22736372697074222c226669656c6473223a5b227365637265745f6b6579225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x3df83a9c29c611b8dee274292b2b3bfc29e39b814934748a1db5b536067c79bd', 8),
	(20, 1, 1794928413288, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383431333238382c22636f6e66696775726174696f6e223a22222c226669656c6473223a5b5d2c226b6579223a2230343936356161346334623437633838222c22746167223a226b6579733a6b65793a6164646564227d', '\x92a9f221b2b19c1f6b41b182f331bc2a40260926afc85447ed19530fbf964945', 9),
	(21, 1, 1794928416624, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383431363632342c22636f6e66696775726174696f6e223a22222c226669656c6473223a5b5d2c226b6579223a2230343936356161346334623437633838222c22746167223a226b6579733a6b65793a70726f6d6f746564227d', '\x5c6635b99a937fb0ebbaf3431066a59168f1fa1a16dc7022157ba9aa9d603024', 10),
	(22, 1, 1794928421727, 'oauth2 client', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383432313732372c22636f6e66696775726174696f6e223a226f617574683220636c69656e74222c226669656c6473223a5b22636c69656e745f736563726574225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x52a9750bd2c923b9c45e83e027ca065c047fe5e4e08b57bdd68977ed0432c26c', 11),
	(23, 1, 1794928426677, 'oauth2 refresh', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383432363637372c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226669656c6473223a5b22636c69656e745f736563726574225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x2a211431268d9d449abe995affdadec2132759d6d3b2126bed2d6b7c498d3291', 12),
	(24, 1, 1794928432339, 'oauth2 refresh', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383433323333392c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226669656c6473223a5b22726566726573685f746f6b656e225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\xeb725781402331e1c79167b0ac71deb738c7190a7987b5989159a9bc9361d797', 13),
	(25, 1, 1794928438658, 'switched_off', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383433383635382c22636f6e66696775726174696f6e223a2273776974636865645f6f6666222c226669656c6473223a5b22746f6b656e225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\xdf537af8a70d9ebf6c6c9477a30c921d24e09a477c8686b1b9a5e1a216e60992', 14),
	(26, 1, 1794928444922, 'open', '', '\x7b226174223a313739343932383434343932322c22617474656d7074223a223730346231343066616134623031316537353733343532646536646132376137222c2261757468656e7469636174696f6e5f74797065223a226e6f6e65222c22636f6e66696775726174696f6e223a226f70656e222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x24a33e3def127d98eac8c18ac5aa8f5745b4ceec05638b417bb144f053ff036a', 15),
	(27, 2, 1794928444944, 'open', 'ok', '\x7b226174223a313739343932383434343934342c22617474656d7074223a223730346231343066616134623031316537353733343532646536646132376137222c22636f6e66696775726174696f6e223a226f70656e222c226475726174696f6e5f6d73223a392c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x709a59e1e0e4027d65dad48572bec173c561d679bb74ea63fc8590134bdae6d7', 15),
	(28, 1, 1794928451765, 'basic', '', '\x7b226174223a313739343932383435313736352c22617474656d7074223a223161643962316536373434373866613434343031643262373237363961356635222c2261757468656e7469636174696f6e5f74797065223a226261736963222c22636f6e66696775726174696f6e223a226261736963222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x1a93879773dca635a2adcf7791bee3381500b338354b3065ba06eb8e5b091397', 16),
	(29, 2, 1794928451811, 'basic', 'ok', '\x7b226174223a313739343932383435313831312c22617474656d7074223a223161643962316536373434373866613434343031643262373237363961356635222c22636f6e66696775726174696f6e223a226261736963222c226475726174696f6e5f6d73223a32372c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x83bf0afebce1a285840b76d3c7655170ed65371dd82effac59be33c1ee16619d', 16),
	(30, 1, 1794928458071, 'bearer', '', '\x7b226174223a313739343932383435383037312c22617474656d7074223a226533386332643265323139366166333263366533373438623833343035346332222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a22626561726572222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22582d54656e616e74222c22582d4150492d4b6579222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x4e980cdee9eca9383b510e57891106498986b61713ed20a059983a21c4b9994e', 17),
	(31, 2, 1794928458089, 'bearer', 'ok', '\x7b226174223a313739343932383435383038392c22617474656d7074223a226533386332643265323139366166333263366533373438623833343035346332222c22636f6e66696775726174696f6e223a22626561726572222c226475726174696f6e5f6d73223a352c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x849c2a0f65901ed3372de06f096817c3974c489171c9acb327bb43aa84fe2fa7', 17),
	(32, 1, 1794928462913, 'header keys', '', '\x7b226174223a313739343932383436323931332c22617474656d7074223a223239663365373163616233386665626239383665396661313638343330346462222c2261757468656e7469636174696f6e5f74797065223a226e6f6e65222c22636f6e66696775726174696f6e223a22686561646572206b657973222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22582d4150492d4b6579222c22582d5365636f6e642d4b6579225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x84de408ecf50f3d908821c3cc17ba1d39e4bb18b3cb74b1981357af7e902bae5', 18),
	(33, 2, 1794928462941, 'header keys', 'ok', '\x7b226174223a313739343932383436323934312c22617474656d7074223a223239663365373163616233386665626239383665396661313638343330346462222c22636f6e66696775726174696f6e223a22686561646572206b657973222c226475726174696f6e5f6d73223a31352c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x6cad90b43ced3b05b34de251eaaec71f491a111391abf1ecb1ee20472ad5c912', 18),
	(34, 1, 1794928469767, 'script', '', '\x7b226174223a313739343932383436393736372c22617474656d7074223a223764643865616132353332363233383966633734646435303064663036623638222c2261757468656e7469636174696f6e5f74797065223a226e6f6e65222c22636f6e66696775726174696f6e223a22736372697074222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c222873637269707429225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\xfa2e6d6af9a224ab60282009d54ee1d2f849d1be69e722785d394bde6c47e166', 19),
	(35, 2, 1794928469794, 'script', 'ok', '\x7b226174223a313739343932383436393739342c22617474656d7074223a223764643865616132353332363233383966633734646435303064663036623638222c22636f6e66696775726174696f6e223a22736372697074222c226475726174696f6e5f6d73223a392c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\xb008162cc44f8aeed61a6e540d86ce280a73c0b5c7c43bb2db89a3c0b39a3e59', 19),
	(36, 1, 1794928477081, 'oauth2 client', '', '\x7b226174223a313739343932383437373038312c22617474656d7074223a223266396633363661626564386564393930663338313566383537333833646232222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a226f617574683220636c69656e74222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22436f6e74656e742d4c656e677468222c22436f6e74656e742d54797065225d2c226c696e65223a22222c226d6574686f64223a22504f5354222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f746f6b656e222c227265747279223a302c22746167223a22656e67696e653a746f6b656e3a696e74656e646564227d', '\xd807fcf84f0fcc5dd4e578ea06bcf960b5863368d05ed4f3fede8ccc67b01c16', 20),
	(37, 2, 1794928477114, 'oauth2 client', 'ok', '\x7b226174223a313739343932383437373131342c22617474656d7074223a223266396633363661626564386564393930663338313566383537333833646232222c22636f6e66696775726174696f6e223a226f617574683220636c69656e74222c226475726174696f6e5f6d73223a31392c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a746f6b656e3a656e646564227d', '\xbfb4ceb771e521cc3c5c9ba5e3e4a102386a608a1ef1a7db997c5bd44e389c9c', 20),
	(38, 3, 1794928477149, 'oauth2 client', '', '\x7b226174223a313739343932383437373134392c22617474656d7074223a223639623462363065663461613339653131636131633236323633383139383030222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a226f617574683220636c69656e74222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x1f9f4cbbd70f6c85bd485a529279d33770d224a2fa0c6201b44679f115604841', 20),
	(39, 4, 1794928477153, 'oauth2 client', 'ok', '\x7b226174223a313739343932383437373135332c22617474656d7074223a223639623462363065663461613339653131636131633236323633383139383030222c22636f6e66696775726174696f6e223a226f617574683220636c69656e74222c226475726174696f6e5f6d73223a312c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x3601322e3d6fbf712d128d0216d498f6d27b2215bbeb511e703728def3fda236', 20),
	(40, 1, 1794928482975, 'oauth2 refresh', '', '\x7b226174223a313739343932383438323937352c22617474656d7074223a223633353230626466643864323063343863633138646231616635346530663761222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22436f6e74656e742d4c656e677468222c22436f6e74656e742d54797065225d2c226c696e65223a22222c226d6574686f64223a22504f5354222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f746f6b656e222c227265747279223a302c22746167223a22656e67696e653a746f6b656e3a696e74656e646564227d', '\x278c6e511e10e898b12ef9c07cc995b34726dc671a2502f5b5206f5c5523ed27', 21),
	(41, 2, 1794928483040, 'oauth2 refresh', 'ok', '\x7b226174223a313739343932383438333034302c22617474656d7074223a223633353230626466643864323063343863633138646231616635346530663761222c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226475726174696f6e5f6d73223a342c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a746f6b656e3a656e646564227d', '\x43f3f07b768e39ff1b61438393e9346e1a423acaf96522bb61c27d8ebd85367d', 21),
	(42, 3, 1794928483056, 'oauth2 refresh', '', '\x7b226174223a313739343932383438333035362c22617474656d7074223a223866323163353039666134623632663236316662363431623164653466386165222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x1b0766fa1c719f77a433ef201647876fed890c0de003103a01e1fd93118fcb22', 21),
	(43, 4, 1794928483104, 'oauth2 refresh', 'ok', '\x7b226174223a313739343932383438333130342c22617474656d7074223a223866323163353039666134623632663236316662363431623164653466386165222c22636f6e66696775726174696f6e223a226f61757468322072656672657368222c226475726174696f6e5f6d73223a34362c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x570683b86e03cc10ad7172c66e007e40f5c089e900f42507b2bc5f129ef7cc36', 21),
	(44, 1, 1794928489581, 'reference', '', '\x7b226174223a313739343932383438393538312c22617474656d7074223a223739363065316537333964616566386363313538626161346362396662316631222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a227265666572656e6365222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x14def854c5bbe4ee297f8d39913fbee3be9b57bff14cd6ee6f2a7b7b359468cd', 22),
	(45, 2, 1794928489608, 'reference', 'ok', '\x7b226174223a313739343932383438393630382c22617474656d7074223a223739363065316537333964616566386363313538626161346362396662316631222c22636f6e66696775726174696f6e223a227265666572656e6365222c226475726174696f6e5f6d73223a31302c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x4ab1d8cf8b5582bf191e5818a5e90abf372b7c04d6859bf202992f46cb92c8a3', 22),
	(46, 1, 1794928496658, 'basic', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383439363635382c22636f6e66696775726174696f6e223a226261736963222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a746573746564227d', '\xc40f32c0c036d975c0ae66e7f508d1c385ba9cd0093c7c88da722471422506ed', 23),
	(47, 2, 1794928496701, 'basic', '', '\x7b226174223a313739343932383439363730312c22617474656d7074223a226266363636636436333931666330303038363335636332633265623264326264222c2261757468656e7469636174696f6e5f74797065223a226261736963222c22636f6e66696775726174696f6e223a226261736963222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6261736963222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x5cd69a946437990a28dc767343a9299b0a5ab25f1239e4ff82a104f34e8fe69b', 23),
	(48, 3, 1794928496714, 'basic', 'ok', '\x7b226174223a313739343932383439363731342c22617474656d7074223a226266363636636436333931666330303038363335636332633265623264326264222c22636f6e66696775726174696f6e223a226261736963222c226475726174696f6e5f6d73223a392c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x441be245cb0cf62a97e14008b10db59b711856d8f92908ffdb3689b7b1e6784c', 23),
	(49, 4, 1794928496715, 'basic', '', '\x7b226174223a313739343932383439363731352c22617474656d7074223a223866326434323063383163623236616536613038313832353566393364303233222c2261757468656e7469636174696f6e5f74797065223a226e6f6e65222c22636f6e66696775726174696f6e223a226261736963222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6261736963222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\xe2751fb35806f106f399be69aab509e57681cc2d67112d4f204b5e7b4a7a94b0', 23),
	(50, 5, 1794928496765, 'basic', 'ok', '\x7b226174223a313739343932383439363736352c22617474656d7074223a223866326434323063383163623236616536613038313832353566393364303233222c22636f6e66696775726174696f6e223a226261736963222c226475726174696f6e5f6d73223a34382c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x10fc2ec0770a13c2025c765c1a32ed90f528f9b64d0f0bc717a77846025af358', 23),
	(51, 1, 1794928503282, 'bearer', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383530333238322c22636f6e66696775726174696f6e223a22626561726572222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a746573746564227d', '\xf1d1c2734fcf3f6d4360766fc90dd190935244261e16de58f433828da99ebe41', 24),
	(52, 2, 1794928503371, 'bearer', '', '\x7b226174223a313739343932383530333337312c22617474656d7074223a223234373339366338386361643034633165333935666235613865383666626533222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a22626561726572222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22582d54656e616e74222c22582d4150492d4b6579222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f626561726572222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\xc49487125c861713389bb69243ddbf6b2cccd9efd20e6dcc9e5f10b7f9273ad4', 24),
	(53, 3, 1794928503381, 'bearer', 'ok', '\x7b226174223a313739343932383530333338312c22617474656d7074223a223234373339366338386361643034633165333935666235613865383666626533222c22636f6e66696775726174696f6e223a22626561726572222c226475726174696f6e5f6d73223a382c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\xe2da279f0433cea873a8a9d3c503ea83797f893d3fdd0c8190c679ad67fb5261', 24),
	(54, 4, 1794928503395, 'bearer', '', '\x7b226174223a313739343932383530333339352c22617474656d7074223a226437636533393064386461363634633039396264623039356136363033386537222c2261757468656e7469636174696f6e5f74797065223a226e6f6e65222c22636f6e66696775726174696f6e223a22626561726572222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22582d54656e616e74225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f626561726572222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x7a9ea87e51d7a8bfa1dae7e5dd86f0a64b1f24161fa61ec6892ad6d19728739e', 24),
	(55, 5, 1794928503445, 'bearer', 'ok', '\x7b226174223a313739343932383530333434352c22617474656d7074223a226437636533393064386461363634633039396264623039356136363033386537222c22636f6e66696775726174696f6e223a22626561726572222c226475726174696f6e5f6d73223a34392c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\xd26fef795dcbca168def104c54a7363bfb9bf8d2716e8fd60398cb3c088f97e7', 24),
	(56, 1, 1794928510269, 'failing', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343932383531303236392c22636f6e66696775726174696f6e223a226661696c696e67222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a746573746564227d', '\x39dbb049becdd58e190f1387e3c05d081b8bc6456404881879059ca4b60fc658', 25),
	(57, 1, 1794928518082, 'bearer', '', '\x7b226174223a313739343932383531383038322c22617474656d7074223a223931666432336630376665383232343335313463636235333666653165353861222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a22626561726572222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22582d54656e616e74222c22582d4150492d4b6579222c22417574686f72697a6174696f6e225d2c226c696e65223a22636f6e7461637473222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f636f6e7461637473222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x798ee9bc21123e03c9b93f59c06889437bffddab5e3819b5bf40878860c93cfb', 26),
	(58, 2, 1794928518111, 'bearer', 'ok', '\x7b226174223a313739343932383531383131312c22617474656d7074223a223931666432336630376665383232343335313463636235333666653165353861222c22636f6e66696775726174696f6e223a22626561726572222c226475726174696f6e5f6d73223a31332c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x5976ccf20be302f3e6fc745fd12d3320cb1d92c8896a40057d481330658179ab', 26),
	(59, 1, 1794928526133, 'bearer', '', '\x7b226174223a313739343932383532363133332c22617474656d7074223a223130323365633063303561363138356661373134373735663562333637343363222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a22626561726572222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22582d54656e616e74222c22582d4150492d4b6579222c22417574686f72697a6174696f6e225d2c226c696e65223a22636f6e7461637473222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f636f6e7461637473222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x899dcb9576e129cbc59f05e6cab64727d4baf08ed5a7dee4a1240569f9a02651', 27),
	(60, 2, 1794928526159, 'bearer', 'ok', '\x7b226174223a313739343932383532363135392c22617474656d7074223a223130323365633063303561363138356661373134373735663562333637343363222c22636f6e66696775726174696f6e223a22626561726572222c226475726174696f6e5f6d73223a382c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x2dc4672337140a10fc7f74fb2d52e5190f2129daf3fc82b770c2617ace21493d', 27),
	(61, 1, 1794928535566, 'basic', '', '\x7b226174223a313739343932383533353536362c22617474656d7074223a223630613033663332616538306439303266386232663235623336663037343035222c2261757468656e7469636174696f6e5f74797065223a226261736963222c22636f6e66696775726174696f6e223a226261736963222c226865616465725f6e616d6573223a5b22486f7374222c22436f6e74656e742d4c656e677468222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22436f6e74656e742d54797065222c224964656d706f74656e63792d4b6579222c22417574686f72697a6174696f6e225d2c226c696e65223a22636f6e7461637473206f7574222c226d6574686f64223a22504f5354222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f636f6e7461637473222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x9646a82b28e3399e0ca86666b22109b54e465df6251c081f68badb8d1b4e3f0c', 28),
	(62, 2, 1794928535610, 'basic', 'ok', '\x7b226174223a313739343932383533353631302c22617474656d7074223a223630613033663332616538306439303266386232663235623336663037343035222c22636f6e66696775726174696f6e223a226261736963222c226475726174696f6e5f6d73223a31352c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x12576a0f02406e834cdf46e89f9ac5241c86800191c7e490b544108d65246657', 28),
	(63, 3, 1794928535631, 'basic', '', '\x7b226174223a313739343932383533353633312c22617474656d7074223a223832373866616636393038356332356231316131343264323737363361366331222c2261757468656e7469636174696f6e5f74797065223a226261736963222c22636f6e66696775726174696f6e223a226261736963222c226865616465725f6e616d6573223a5b22486f7374222c22436f6e74656e742d4c656e677468222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22436f6e74656e742d54797065222c224964656d706f74656e63792d4b6579222c22417574686f72697a6174696f6e225d2c226c696e65223a22636f6e7461637473206f7574222c226d6574686f64223a22504f5354222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f636f6e7461637473222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x051a565d79d80e7fdcc97d31c4e55098925106bfe7b0b0bb6b589c45bdd57720', 28),
	(64, 4, 1794928535685, 'basic', 'ok', '\x7b226174223a313739343932383533353638352c22617474656d7074223a223832373866616636393038356332356231316131343264323737363361366331222c22636f6e66696775726174696f6e223a226261736963222c226475726174696f6e5f6d73223a34362c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x5e859642dd13d0ab83335c9683a6a4d3d1f76c95376c015466971bc873225253', 28),
	(65, 1, 1794928564058, '', '', '\x7b226163746f72223a226f75746b6579222c226174223a313739343932383536343035382c22636f6e66696775726174696f6e223a22222c226669656c6473223a5b2267726f757073202b41646d696e6973747261746f72225d2c226b6579223a22757365722061646d696e222c22746167223a2270656f706c653a757365723a63726561746564227d', '\x07dd7cb5838eed3e0af3f4f65b8431130e0666555cbb75b815fed5d3cc7cb76c', 29),
	(66, 2, 1794928568359, '', '', '\x7b226163746f72223a226f75746b6579222c226174223a313739343932383536383335392c22636f6e66696775726174696f6e223a22222c226669656c6473223a5b2267726f757073202b4f70657261746f72225d2c226b6579223a2275736572206f70657261746f72222c22746167223a2270656f706c653a757365723a63726561746564227d', '\x1c5d3c9d7369905abb219df0186086d8a451f37e216942fba3ce001e443509f2', 29),
	(67, 3, 1794928572357, '', '', '\x7b226163746f72223a226f75746b6579222c226174223a313739343932383537323335372c22636f6e66696775726174696f6e223a22222c226669656c6473223a5b2267726f757073202b41756469746f72225d2c226b6579223a22757365722061756469746f72222c22746167223a2270656f706c653a757365723a63726561746564227d', '\x0c081c161485642a439913b95bf97ae7ff2424a3ed72c7cda558849daf0f9ec7', 29),
	(68, 4, 1794928581035, '', '', '\x7b226163746f72223a227765623a61646d696e222c226174223a313739343932383538313033352c22636f6e66696775726174696f6e223a22222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a2270656f706c653a73657373696f6e3a626567616e227d', '\x29562a91efb5c8672ccbdde625256c13593b54c470036a0e6dd6527cbd3c4476', 29);
INSERT INTO public.outkey_configuration VALUES
	('bff429e0-de61-43c2-a7fa-0ccf1b5ecca1', 1, 1, 'open', 'http://127.61.0.10:8461', 'production', 'internal', true, 'none', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "no_auth_reason": "internal", "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, false, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('f3d0f9af-10b4-4401-b20e-6a2ebafe49e6', 1, 2, 'script', 'http://127.61.0.10:8461', 'production', 'internal', true, 'none', '{"notes": "", "script": "import hashlib\nimport hmac\n\n\ndef compute_auth_header(sync_line):\n    secret = sync_line.api_config_id.get_secret_key()\n    signature = hmac.new(secret.encode(), b\"invented\", hashlib.sha256)\n    return {\"X-Signature\": signature.hexdigest()}\n", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "no_auth_reason": "internal", "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('8cda1ea9-1b89-4960-a1b3-3b47992abc5d', 1, 1, 'reference', 'http://127.61.0.10:8461', 'production', 'internal', true, 'bearer', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, false, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('46c07005-61c9-4173-8099-97f677e632ed', 1, 2, 'switched_off', 'http://127.61.0.10:8461', 'production', 'internal', false, 'bearer', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('470d1669-8d33-4cd3-9158-d4a3d0f6a257', 1, 3, 'oauth2 refresh', 'http://127.61.0.10:8461', 'production', 'internal', true, 'bearer', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "refresh_token", "oauth2.scope": "", "token_source": "oauth2", "oauth2.issuer": "", "limits.retries": 2, "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "invented-client", "oauth2.token_url": "http://127.61.0.10:8461/token", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('319d5768-6416-4e26-86ed-9244b7930bc7', 1, 2, 'basic', 'http://127.61.0.10:8461', 'production', 'internal', true, 'basic', '{"notes": "", "script": "", "username": "invented-user", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/basic", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, 2, 1794928496.7693653, 1794928496.7693653, '', '{"clock_offset": 0}', 0, NULL),
	('39e54e2a-e6b7-4b74-8d7f-f5815b90b9a7', 1, 1, 'failing', 'http://127.61.0.10:8462', 'production', 'internal', true, 'none', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "no_auth_reason": "internal", "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, false, false, NULL, 1, 1794928510.3070176, NULL, 'connection', '{}', 0, NULL),
	('405fe20f-5aa7-4166-a659-616c6ed512e7', 1, 3, 'header keys', 'http://127.61.0.10:8461', 'production', 'internal', true, 'none', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "no_auth_reason": "internal", "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('0ada8e01-b59a-4ab6-a723-245b73b47cc6', 1, 2, 'oauth2 client', 'http://127.61.0.10:8461', 'production', 'internal', true, 'bearer', '{"notes": "", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "oauth2", "oauth2.issuer": "", "limits.retries": 2, "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "invented-client", "oauth2.token_url": "http://127.61.0.10:8461/token", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{}', 0, NULL),
	('100b569f-688b-48c3-8221-3bb3e3147fea', 1, 4, 'bearer', 'http://127.61.0.10:8461', 'production', 'internal', true, 'bearer', '{"notes": "Two lines\nof notes", "script": "", "username": "", "oauth2.dpop": false, "tls.ca_file": "", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 1, "script_enabled": true, "oauth2.audience": "", "oauth2.resource": "", "oauth2.client_id": "", "oauth2.token_url": "", "oauth2.device_url": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "oauth2.token_header": "Authorization", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "tls.client_certificate": "", "verification.test_path": "/bearer", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "limits.requests_per_minute": 600, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, 4, 1794928503.4552681, 1794928503.4552681, '', '{"clock_offset": 0}', 0, NULL);
INSERT INTO public.outkey_duty VALUES
	('watch', '76f913af99616373b7ff3f9b41c8245d', 1794928761.101826, 68),
	('prune', 'e022bf181860abd2dd24c784fd9420db', 1795014981.212253, NULL);
INSERT INTO public.outkey_headerrow VALUES
	(1, 0, 'X-Tenant', '7', false, '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(2, 1, 'X-API-Key', '', true, '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(3, 0, 'X-API-Key', '', true, '405fe20f-5aa7-4166-a659-616c6ed512e7'),
	(4, 1, 'X-Second-Key', '', true, '405fe20f-5aa7-4166-a659-616c6ed512e7');
INSERT INTO public.outkey_knownkey VALUES
	('b94258473ed9e782', '\x02a3a7a9a91c5e6af36a1ffd806f7417d999faf923147bbd2aa57e0ca2e31cb1'),
	('04965aa4c4b47c88', '\x93c5d985107156544a8546bf0f48c95c0c118cf82d71b3a074af56b835f4f433');
INSERT INTO public.outkey_notice VALUES
	(1, 'S-failing', 'failing', '', 1794928581.1145928, NULL);
INSERT INTO public.outkey_pace VALUES
	('bearer', 1794928526.2141924, 0);
INSERT INTO public.outkey_quarantine VALUES
	(1, 3, 'c-3', 'credit', 'no_number', 1),
	(2, 3, 'c-3', 'credit', 'no_number', 2);
INSERT INTO public.outkey_run VALUES
	(1, '25984ee99d828692ed04f673a88fee5c37f5094f47453595faa02422470adc31', 'cli:root', 'done', false, '{"position": {}, "cursor": "", "since": "", "worked": 0.17814913799998067}', '{"failed": 1, "created": 2, "updated": 0, "archived": 0, "unchanged": 0}', 1, 1794928518.024609, 1794928518.2106917, '', 3, 1794928638.188342, 0, 1),
	(2, '25984ee99d828692ed04f673a88fee5c37f5094f47453595faa02422470adc31', 'cli:root', 'done', true, '{"position": {}, "cursor": "", "since": "", "worked": 0.08275094999999055}', '{"failed": 1, "created": 0, "updated": 0, "archived": 0, "unchanged": 2}', 1, 1794928526.099752, 1794928526.192565, '', 3, 1794928646.180985, 0, 1),
	(3, 'd8e973102884add6483115031d4ba5c84854d50f5578eb54f2145578ceff7a60', 'cli:root', 'done', false, '{"position": {}, "cursor": "", "since": "", "worked": 0.17012642000008782}', '{"failed": 0, "created": 2, "updated": 0, "archived": 0, "unchanged": 0}', 1, 1794928535.412125, 1794928535.6988719, '', 4, 1794928655.688492, 0, 2);
INSERT INTO public.outkey_secretvalue VALUES
	(1, 'voucher', '', 1, 'current', '', '', '\x0101b94258473ed9e782c1246dc072fa00645b8c78c93b5941fa592778e95ec1195702c23635304edcfe02514190aa1814c4d39280683554671ad304b87cc770f170d105e9e06c8ab714fbbd56c7864e9b22c7dd9c0ccea4bf6316c8bbde08c7ae032689e0f686bd49443ed60b6e3e312fc42ea8edcd6e832e4f2dd2efec9a40bb9576d89e304eacd0dc7e86a7b6f576db79a796954fdfe363408b76634e73c57f185e3555f4f453299d18a2e64d003322a3be4c17722928ee3c3a00dbd76b27e66cc785a66c8875d65deada72d7aa95eddcc00e5950ba582027f17ae1c923c40881', 'b94258473ed9e782', NULL, 'bff429e0-de61-43c2-a7fa-0ccf1b5ecca1'),
	(8, 'token', '', 1, 'current', 'http://127.61.0.10:8461', 'env:OLD_TOKEN', NULL, '', NULL, '8cda1ea9-1b89-4960-a1b3-3b47992abc5d'),
	(9, 'voucher', '', 1, 'current', '', '', '\x0101b94258473ed9e78204762f126c23d9702311a876e8116a83be9b227b88b33a49db006a27661111bc0fa4713c00eaceca23f05b03d52fecb8d30907bc3180e19ea11a199890757ccd853ff1035ed8aac738c7940d8abc0ba5f9c1c1b22f1b76036e188615305307fbb88bf48defc6b42711426dfc0ff4441291f036c8960caf4a8d4bf6e86769e190e7eb528d9c7c8a8b7dddf23759e987a46359d43815efee7b397b51d5e9e8f25f0e9ace696e37489e5faa07759d937627739d355de416f9644973aade72a3419b93f25700e3ea8d31d28541ecc7d6e13980e8bba26a938f4633f2ffca0b921d8d22f7cc2595c39c691cb72c16f372910c71987b8729abdddd3996149b3ea67cedc37e65ebc012a5c3e3d6832a5de8452f4e39226be547c439b9a1d8fa640b6fe7233669feb28110022c9031e0e74e0b06319a32afa5ef92a2869fd771ac2d0babfd62d5ba78595c98b1e82408396b27e0431ccde71ebef8bd', 'b94258473ed9e782', NULL, '8cda1ea9-1b89-4960-a1b3-3b47992abc5d'),
	(11, 'voucher', '', 1, 'current', '', '', '\x0101b94258473ed9e782ab2452c62ff11fecd86c7ce9aa6251c8d2167d695971309474102426477a46f98986a034a7af1e20a2dd579ea75bd9549489c71ac6e6a16d639a565af62e7a3be465c6ee309dd98a9c09e236b482bc53520a0b03507d09a169ec59fb1e7a74940a8a60bccf1567b7e490b09318b3180f9d3b18c1bc98d15af3ae283755e124c1ee597f4e25e54bfea0b2dbfa55753bf3f21b10319b203bbb4ffd2316531bfb17cb1bc597cd6a6cea8ebe646c93e96f1d0c0a33c841695d746ac6103b7a59e3f947e5ae7d447dc8738c6022d773f11676e95f067419e4d0d8', 'b94258473ed9e782', NULL, '39e54e2a-e6b7-4b74-8d7f-f5815b90b9a7'),
	(12, 'password', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e782a0bf9e81f9a9eeec29cd498d8a734bf7e3fafde6d3983f73105691cd6529ab344ec3a80ed79ab68ef697f64519202aa00ec4e064307e6f543ea393c7be127f34344c2adfcbc7d7a82654e803f15c27ae57beb076884d010f39b1f16f2eccbf07eecfce361bd1f1e646ccbd78ca33c49526f793b24538df7ee284db1f9399623c405bb29ccd35b6e7be102f793d68c9723eace392559dc7be', 'b94258473ed9e782', 1794928379.400738, '319d5768-6416-4e26-86ed-9244b7930bc7'),
	(13, 'voucher', '', 2, 'current', '', '', '\x0101b94258473ed9e7820be797ab93bb7895a64338f0653a4a50d8dcf7f985f2a91ac828f72015bbb1db00bdbf1a5957e8ae4b1596801c0fd6b4bc3cfc24c16627e72a17672e465e203524a64bf164b2bc83bb6084eb7637847e6bd265b67e3b60163327051ebf60fe81cb446c907c97a9e628c47f10a4545f92a8f450164bf46f3d52ce544a249a8792992a04f23d951f817a80c55f7463785a5ee87b6859a57c2cb680b9f104f239090f4e6f3e5c3117ee09d243e18b775d12e21ea26af0a5d1a1f5ad65ccfb3d337eeac3e586aa82bbc3b10a6d0ffa1caae9121221217a3dfc60454d1ccb9e05285cc6a8202205838d3d786a3e622c17f1734e9d9be2b4ea959433b75bc3d03ce9cbfc3b694babb1c29e83866d5d8ded3a47ae2f3884a151d2275c3b45b56352c2d88ecaa56d49a576694f05e99f614137cb49d6fa581fc6bf298bf0f51e3b04f547fbeeb9bd3fe4b5cbcba3751a1298ea298ea499a29ae25fdb945c8ececc85c25c7bcf8853d128c63f7cbbbe4d35a84ba4ab758a67cc682778c511999d614d652893ce0a2c2d66fefdc5f44335d7aacdc9682954b12761aa97', 'b94258473ed9e782', NULL, '319d5768-6416-4e26-86ed-9244b7930bc7'),
	(14, 'token', 'cli:root', 1, 'previous', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e7829c45f224c102e87b527abc0a2dbcc86ef438e63dd80c2c51fa040d09724d64242da6e44aa38115f652b954f7198860e06082f4c29dd43de1b57c0dc218a3f417c16b005981ec257fb09eae7bef80288f897a83066dfb6cc5b88a743306eb1107ff48ee4be398d17e56c0d6db8895aa394966fd41c696a5e2781117e4463c24ff779afba418ea5e035897c834cce2b9405c6f7c0ae7b494d8', 'b94258473ed9e782', 1794928386.7970448, '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(16, 'token', 'cli:root', 2, 'current', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e782073c8ef58bf554d1310989aa9cd4228e9bcddd8fdf0fa05e8a323811f9631ba033f07dcab7dcd6a28a86951a636955df3106ddaa6be0797510d42c437864ba967defcb5d5c5baf58a55e7c9629e11c4dbf8edf4209a191ad35dd47615d6074b057533684b9169d2d27e92c05da450c11cc5a5388131ae613498faf51030fe955e09e4cf8375689b8b96c4e328ed7822fb7769edccfb3d7df', 'b94258473ed9e782', 1794928393.249543, '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(18, 'header:X-API-Key', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e782df8e8b6bc7ce6de40bfa2e17c9e7999a614fbb29d196997fd6fa6a55167c6892c1d11f298296cc38ad26f8f5d87c3b23d2a765297b6b5133965d2d311c62cd8973088a4a6970556f593f68fb6047006eec8aa818a778feedea06c2ac1a27137f83df662660db3a786dc2c787c0d14951cd5f1cfb88dd1888c0be0fc5e73cd0c4265f74b4fd15784482a280df1d297ed06239ade026eb91be', 'b94258473ed9e782', 1794928397.2369492, '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(19, 'voucher', '', 4, 'current', '', '', '\x0101b94258473ed9e78238632ed11f7abc6c6a060a847c438d75a0ea751e8769a3e1a06e933faf3ba0e216276b29cfbd84dfa06b408de1a67d716554faa0ee0870d1e61e81ea196e4746279994846839dc7f959e1804bb532b856cfc994c2faedfc2dfc73420e80640ecb7405a1eb7b1a3ce49d2c534f0dd516e6974b04232e07ef0426c2b1f8e3af2b12bf95a2ffaf2f7f79d40694617f889cd549e9890663f34303878d7689f1502b244c170abe50f691c0b572c9f170064eba602252842dabee3fe160e1a72590a28054a7ce6d8c427026667f3b663a420105b3bb42b3dc25b33f62de1dd87885f093605e7c1a245bd1d0831753944f87ed75c27f9f9198f81151b8a10863feb5a80cb2f6b107d906e5be237f99e46b50513905e74420ecc9557243fd1deb01414996c9867c4c0a83d1705e662f2f3d49015ba3b300600f2f4f03fdd8cf062beb3f4b6f56cb066552d01c132e04bed98d5900615469c0e21bcd1c73faa9be0ce91d04af67b5365737ac91016d00128b7300d812203f21638dcf9bb6cc836f9fdc98802b5190ab1a56dda0fc335abb67410de39cac0cc44cbc2869893007bae009a037df474124575817a0a00651194dd7bc9f09cb25cb746436d768ceaa2b66ee3962dff9cf26721adc0590a08a05f0243576c26a7084bd1aa10', 'b94258473ed9e782', NULL, '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(20, 'header:X-API-Key', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e782903779e07b465b5bb0bee9fe41899e77b31d1f5da01c35cb06cd78574dee359667c9632e119ae463f8667e4657b62c6e95585aab98bdeba9444c93864f46f45d58ac3718c1e1c68d7efd2c63fc4eb0467f9b8bdb2e9c9eb626b6e02d0065eeec8b9e0ceb340b67683f40091be4357ea30ec9e85c35ed9498b902237c0c6f05b02941957664ba2c462411a6a5aa3acd59b951d331df7c1dc8', 'b94258473ed9e782', 1794928400.8320317, '405fe20f-5aa7-4166-a659-616c6ed512e7'),
	(22, 'header:X-Second-Key', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e7829f4a18d0450a3c5c1161c6171811e268d0acb18037e5324e2cea9c220ba5c2515a4cd14c55a414493fec22cbd07e8a4ef49f94c9797eb04acf02a4a920976b4913f024384be124c79a1fc4280187b6c5a618dff32549fe618d48d14b44176fa0b0eb6bfbcdf88cbeb335368d1725a2170aac005cacaf89dc82d50e444984262dadafd40ba725ef90f12146e765e9e5eaa275fd36911d47c6', 'b94258473ed9e782', 1794928406.0085378, '405fe20f-5aa7-4166-a659-616c6ed512e7'),
	(23, 'voucher', '', 3, 'current', '', '', '\x0101b94258473ed9e782878f9b11f665077111b9a43d8944690aeb9200038f5d62c8d46f746770ba1d80632a3be27aa57b9ecb82cc3ccacbf7b293eed9c516ed04464a737384509287f3947a01c33f040430db8e660848b643314d9041c29c35a81c7749c08fe8078845bca5a24d344b413f770359c0ec4822b5b31a782cbf3aaf26af396d1b37cb957cc4d60dd52942acfb6b6935743bcecb3c90cc65571b159928654a47cf22a498491c8029797596caf133b09c5a8dba6503f5577ed01b1383541179a341b473222f8e96a7f993674775b5efb0734ab9b7b09f24a8eae61df3d4247b9895bb2daf2d853354db1fd3eb61cdd15e164eaf5701164a297b3d48172853122e1385149ecd94d6e6942d276d5183523b43abdd3b28182103d3fe7067ba0e3828bbbb1e52575c65b29731108d2f449002ef2211b3ff4b48d05cc50d5e0eef2f39fa67a782ab6c9f2fc99f6e4cd83830821606401e0ae6570b106cd5a0e3760033abdda0884e63c7d0ed7e81dde8c9be594b6b3f49639da4d2fae4f6c075d183b90eaa88dade092a2a244960a511e5a4dcc4218ab46681dea5f8cb6f6313e0f998611ecbbfd46ecd6d712f2e12ec853559f20d667fa7c83a6a829076ecf60c50d2c6a6fe47f4a6f94d6640c98c14d5e11654c08f50f616bc067d1b2eb751', 'b94258473ed9e782', NULL, '405fe20f-5aa7-4166-a659-616c6ed512e7'),
	(24, 'secret_key', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x0101b94258473ed9e782e2089755f66aca90532934ab5813963dad94fff9d603217beb44acef2e100c2c895df1be97af60a5e1de06c559d1389c905f2f5ef7d91d05b44237183fc21ce6d702915f90332c3b41e6d938832e54cd11bdc4f496b87f32c2ae8ee0ada11a83d61156bbc2b76a3a632c8071255200537da0083660b58b38c1217cd5d96201304839c7c7cc1f17a5c118bc94a90711aa0d4c08489582ae55', 'b94258473ed9e782', 1794928410.161036, 'f3d0f9af-10b4-4401-b20e-6a2ebafe49e6'),
	(25, 'voucher', '', 2, 'current', '', '', '\x0101b94258473ed9e7823d8ccc6f70c472c35cd17ee2c496f812777205ecc2253f31292a116b417e0f5bdf7008e4595f3cf91a111cffef14b10b1598418623189faaa436ac8ebd38070dfef5ba7c6822d2e9cd7afce1f7a9ed0c0760ed4e3f28e5276a7a4d8f5c7dbc52e71476317d8a31a14b2afa44b8fd47156fc7f3f71de70437245564c0289945aabcd48bcbabf611b6e15978ba5c66137350a57adda05f9a583740ffa02400d5d83d2e73b4f0713bb38444f8483ebd0666d5e0e33930a0fd38e7815ef94b44189c4ef891ccb04c0c134ba50243785fd5ddf6444aae56a64f4e3697b40d54cb94c6073cc71c17331079d2cc9b2b9f9e331dc9effcb9ee3f04251d6345671cfa927100c78599715e5607ce9d23b84b5d652b4ed9388b0fdb8f6343e5b826c283e58fdc24a185e019b7625a9717b4f1855422be0a4884fde6c3067a09348a55ed981ad5c538ed329fbc92af342f2e1d11cc2e2614d6e32a8348680805e63335acf0bf3f33cde8c77c629e3e80d3c52aa4a3fbce5d1fadde23632cc810120da6d8bb51eb87eb5b6501b19e1132c8962e2367d6a32cdf6d9a910a9d', 'b94258473ed9e782', NULL, 'f3d0f9af-10b4-4401-b20e-6a2ebafe49e6'),
	(26, 'client_secret', 'cli:root', 1, 'current', 'http://127.61.0.10:8461 http://127.61.0.10:8461', '', '\x010104965aa4c4b47c880f0f323c217965930ab1a90e61a9b0f932067440f66557d83789a3bf6e37846b61fe48f048d62aa5320d2081f4647145467565a007c742ad2c48ae10777e9bdb8f44cc4d3e8fcba5f3a8418844f683c1cfb614be8117ef776f9603a0ba1b9d581db1a520d2a8713f2bc878210e4216cf1187a0128c564ca07304686042b7401c9c64b429663fa733110ab508de8d626b4da7dee7fe852489', '04965aa4c4b47c88', 1794928421.7405362, '0ada8e01-b59a-4ab6-a723-245b73b47cc6'),
	(27, 'voucher', '', 2, 'current', '', '', '\x010104965aa4c4b47c881a40ca5e06eda702b704797c640a3ffca516e04f166a87a2727bb3b41f8b5aaf1ec2271da977b40fe87234c7f309842e60c5b5500a36d8302e8b2ce2f1a8898bf87f380b26b1729674dc9c3edf28b3b6f11581a3107b389d5762d12e96dad1323ee67005df428c7efb588baeb2098ea63759f19752e58d68efc2499a176a348064dbcec527155d29121866d2a74cd108235d9d843b4f6d5f6df4f8e60bde60da724b4f06f17387dd4833cccbe107de033a0e7f6422f90474a3ce8cdadeb4e4d83960e95886d10dc3f930420857852898f142d5b48998743c99b07a99d86e82ccc1769684afe0717661e051c0c94a3e0bcf5859ee714682fb720715dcd2957302d3159a6b50318fc14f739a56e05e113a28ad0d83299cdc9eba0e581fc3ba1d8c65550bfb1a72f8f8b4f426ea8bf5cb6b585140ad2698d709ec8f6ebd5a94f6565931041af9532658b77440b31a967ed4c8f41b83bad30b9bb92a2316383d55ac10b0a13af5316f6503fb28b08bd5d64a23ca9d12713c5260ce5328b8bbdff028005a31a55ba1bc6a36c29a63d1033bdd07ca7549add763ca8aca1c19b6f3e6a51cec9f066c9bebfa2cdbac5ffd0fbba95d004771da3da539343edbc01ec51c4d70c93daee1536a03e0a9aee7746dada1c1555c7be4a66596dcfe339745e4d4bd4ebb76ed31145e2875a4962711020778ea4ec413c835a5cc0562f777cd4914f4695bca665c84ff340c8169e6bdcd28b8a741c2c7805307cf', '04965aa4c4b47c88', NULL, '0ada8e01-b59a-4ab6-a723-245b73b47cc6'),
	(28, 'client_secret', 'cli:root', 1, 'current', 'http://127.61.0.10:8461 http://127.61.0.10:8461', '', '\x010104965aa4c4b47c886b301cd57ff50118b9ac18bfce16334ef92f56f8d9c072d6566bbd185bf5c029fbd6d36a27f88b81750f270c58c9ec0332a4b7fdc73c9c5b7d817da3ffc705d4c205180a073fcdea4b095437c5e8521c716f5c5d60cd03ff3ef2e231abfac315dac0457f16ce87dd0350b450feab3065f1ae458284afeaeb3ea3a55de37e4611b43f331e2db5aba1a53e5e5169ca5e93319392f68b10ab05', '04965aa4c4b47c88', 1794928426.6934483, '470d1669-8d33-4cd3-9158-d4a3d0f6a257'),
	(30, 'refresh_token', 'cli:root', 1, 'current', 'http://127.61.0.10:8461 http://127.61.0.10:8461', '', '\x010104965aa4c4b47c88d9313a93b56508d3a2cdff3c73e55ba10192926b5988426514a09da27d524b42ca275bfeeaf796a089259fe35d340a893ec21fc8721a3f7ded755a11201ca644358247ba0e490e681de0930818754f2698efbdee39e3daca2d0e750911e39a450d7540d6ea044490f8b4edafc5a66a316a591eeeb393763671a32d6ff73dc2b2951522fdfdf5e64ce0cc018ceefe1a64af696512be0f2f6c', '04965aa4c4b47c88', 1794928432.3473504, '470d1669-8d33-4cd3-9158-d4a3d0f6a257'),
	(31, 'voucher', '', 3, 'current', '', '', '\x010104965aa4c4b47c888ce871b1b3ba0fdfa54e73ac25744f3b6a89226bdd85319eff21fcac5e2c3d084008d4a186d3ff1e88d1b4b1e443143967ca0bd71836bae5d500c987b5af0d7df39e678dee427d30908d5976b1de7ee75ba630a6a8c5fc37ee836d3aa3dd1198beb41e986998582c3af100c6d106f050efd1218a00aad3ed61e984a4355794ea82c4b9583e7bcec010b39b869706f611502abc1b5a4a033bc1d0f3f6240dd3f56f4b97898a0d93e3737dfa5f3e02bbd2aeb9289f110b1d2f5ba8b79af25ecab023437c9771a1b1d737eb4aa6596e779a10e25f5cf4a8754cdd7e39b675152ded1a539fab53bfc3ad7b13ff96b71b6d12439891e9b082250636ed135efbd5a66fa7144c69aec7b979dc3cffc08786db427066a30734ca08e0e92efa188dfa4c6282ae259f55a127ee4fbc44d18c26108dc9f4ae1f7a027549050ff76fe0e55d86e275feabbb3cac593d7bb4a1ee10e162b0c2b667510c11b4d4d105be97ecda5ed08fbfc8bcdc75d09be0ab3212639812e60bb8303ae669b995a4b0ba6461673f5f512cee036261a738dc97df68fa18ae7b21cf83c9510adb3b3f57adfc5b165174842da8fe4d226766cc4f8a1f5affd01a5bfa0844808b49dfe090893dc9a4beffd4ac3bef7daf02819300a842f4d3d7d67b88565ec9f2955a972edbfe414c46d87228c32e77f21d63d37eade1478e7c7b89cacd0dd3adbe382eaf48da57a4432020cfbe8035813fbb1e1fe53f1484fd1b772dd88f8802b036a7b4aa8376eb99d9eb2c34abdfdcd0c184bae11703ca87c1f8a858e338f1152ddfb24dcf427571865335201f2c56493ddfe691fde9a73957e3f8482a41e038cd103eed5e308fe7e6cbbf6b32182a62146462f95d580c49ca2ddffc39a646f38b683e3c869fd9e473bd1732dbb52ffc69fb1ecf48dd3c03d5562c968abc74a8', '04965aa4c4b47c88', NULL, '470d1669-8d33-4cd3-9158-d4a3d0f6a257'),
	(32, 'token', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x010104965aa4c4b47c883cd9ca400b2799442e0cda44bd69770e08a6a51acbbec5ad465d8f1630b1145f4c77bac7fffc4419bf5f4e5c0a6b35102678af1f631294f704d820ff4a157af5c8fd08c5eb3d36938eb394d711afd54a9f958a09ece086b66a2a4c002f1a17344dae7fcf98ad657b4cb40323d454aefd4ed09589146333458159784e1b938ceee4cec7c4f32de2a50c5172dda79001e40a8b82c05645666a', '04965aa4c4b47c88', 1794928438.6812465, '46c07005-61c9-4173-8099-97f677e632ed'),
	(33, 'voucher', '', 2, 'current', '', '', '\x010104965aa4c4b47c88342f2ba973d93ec2f6ac3f4e91dd05bf8ea905b1c965e284db82712b490ee9b7caf5a4382ce3003f46cde600579cb83e8f67143f80cdfb0db691dcc8f4f807a15303e56e86f8b2e1b5be455d2ea79e09680236bf05acb94d6fca399dd9f3146f35c3be28793664a668a1cd2720e85a5d48391e3d75d3da8d023265450129945682a0d5251e57163cec42dc18940779fb489635a02ead0d81d9a172fb10d227796c2cc82b424436197e770f7ed3a606154f96032d787dc9af5336d9f1c5ec5ea4f203dc29ef193071ddd6d6377596b9f59d663a0d2d3e5611f699d205e0a3d58e0fa7ee985571fb6d7e304bb56058617108f30c2f5b06919be66717a5ee5766423a2d4bcaf4354b974117ac51d1c24f79f20e5f684f84ea5b84a21dfc51b66c68df7b870ea04fdba7f6d43277c7de1b495e6a0e3b1a0de0a308ac35d5986498dd552abe5ed4dca7bccfe7c5f8667aabc2efb9d041214baeb9', '04965aa4c4b47c88', NULL, '46c07005-61c9-4173-8099-97f677e632ed');
INSERT INTO public.outkey_stream VALUES
	(1, 'b94258473ed9e782.a66726e60a5c9a2b', 0, '\x', '\x'),
	(2, 'b94258473ed9e782.fb4cbc5cad7d21ea', 0, '\x', '\x'),
	(3, 'b94258473ed9e782.c6467344c47cf982', 0, '\x', '\x'),
	(4, 'b94258473ed9e782.f246fc82af52bd92', 0, '\x', '\x'),
	(5, 'b94258473ed9e782.f2f5e50da50b3fbf', 0, '\x', '\x'),
	(6, 'b94258473ed9e782.7e032f85f5a5c52e', 0, '\x', '\x'),
	(7, 'b94258473ed9e782.6ab26423ec3f3c27', 0, '\x', '\x'),
	(8, 'b94258473ed9e782.6dc7c1bd5040329d', 0, '\x', '\x'),
	(9, 'b94258473ed9e782.272ea20f98c88ee5', 0, '\x', '\x'),
	(10, 'b94258473ed9e782.a3d0c5ea793fe390', 0, '\x', '\x'),
	(11, '04965aa4c4b47c88.45534038749dd47d', 0, '\x', '\x'),
	(12, '04965aa4c4b47c88.5c8449ba77cbc632', 0, '\x', '\x'),
	(13, '04965aa4c4b47c88.681c8738819ed304', 0, '\x', '\x'),
	(14, '04965aa4c4b47c88.f0e6813c70aa8684', 0, '\x', '\x'),
	(15, '04965aa4c4b47c88.1a121e9fd2c84227', 0, '\x', '\x'),
	(16, '04965aa4c4b47c88.5b6053ecd72937a9', 0, '\x', '\x'),
	(17, '04965aa4c4b47c88.0e9bb78cf9e48e9e', 0, '\x', '\x'),
	(18, '04965aa4c4b47c88.22be7d5f01bb76ce', 0, '\x', '\x'),
	(19, '04965aa4c4b47c88.f45cb00cd96185b1', 0, '\x', '\x'),
	(20, '04965aa4c4b47c88.d13a0d900b66ab94', 0, '\x', '\x'),
	(21, '04965aa4c4b47c88.d21cbda7853418fc', 0, '\x', '\x'),
	(22, '04965aa4c4b47c88.055aec9aa28a0f86', 0, '\x', '\x'),
	(23, '04965aa4c4b47c88.534625545b32d11e', 0, '\x', '\x'),
	(24, '04965aa4c4b47c88.2cfe3260e529939d', 0, '\x', '\x'),
	(25, '04965aa4c4b47c88.1a5bede8f62f48d7', 0, '\x', '\x'),
	(26, '04965aa4c4b47c88.57e3257d300d5aed', 0, '\x', '\x'),
	(27, '04965aa4c4b47c88.d2b3909b2de2addc', 0, '\x', '\x'),
	(28, '04965aa4c4b47c88.9bc4d9ab032ece73', 0, '\x', '\x'),
	(29, '04965aa4c4b47c88.492e8db2f0906e3e', 0, '\x', '\x');
INSERT INTO public.outkey_syncline VALUES
	(1, 'contacts', 'GET', '/contacts', '{"keys": ["external_id"], "fields": [{"api": "id", "host": "external_id", "required": true}, {"api": "full_name", "host": "name"}, {"api": "credit", "host": "credit", "transform": "decimal"}], "target": "demo.contact", "records": "items", "schedule": "0 3 * * *", "direction": "pull"}', '100b569f-688b-48c3-8221-3bb3e3147fea'),
	(2, 'contacts out', 'POST', '/contacts', '{"keys": ["external_id"], "fields": [{"api": "id", "host": "external_id"}, {"api": "full_name", "host": "name"}], "target": "demo.contact", "direction": "push"}', '319d5768-6416-4e26-86ed-9244b7930bc7');
INSERT INTO public.outkey_syncmark VALUES
	(1, 'demo.contact', '1', 1, false, 1),
	(2, 'demo.contact', '2', 1, false, 1);
INSERT INTO public.outkey_token VALUES
	('0ada8e01-b59a-4ab6-a723-245b73b47cc6', 2, 2, 'http://127.61.0.10:8461 http://127.61.0.10:8461', '\x010104965aa4c4b47c888b313d4af44152e68b2d60e5d460667627bc5e94361e111bb4eb3d225e4ef99ebe2716d5f20df44ab72251635bd1277064a7fa7aea9de0e4df2c992424c3c27260d3093434362b9b1a28799d05f923e3ed7833d5b114ddca2c4a92bf599cc5af5c7947e45681c4dc830af0f219145ab149c9c32bafb3cfc1a4fd096f11450aa4cc93b2a762c00ef0f0a0906b858f3f7884a8fea13ff894d961e5dd29e0bcf74ef495e202dd55b8124c5dc4ba28a2cb2e726738b7eae21d5e9e707847c6b57bcab75b96720fc390d9550d9f1e1c9336c62b47a3a8b566a332', '04965aa4c4b47c88', '{"dead": false, "kind": "Bearer", "basis": "e2397214e9e6db2d4e832a5a2cf5df33:b360f3f9148dddeb6ea0a17198ec742c:b12557e9699c33c8f536e011d5363e73:", "error": "", "scope": "", "spent": false, "tries": 0, "holder": "", "failures": 0, "lifetime": 315360000.0, "retry_at": 0.0, "obtained_at": 1794928477.0611036, "leased_until": 0.0, "after_rejection": false}'),
	('470d1669-8d33-4cd3-9158-d4a3d0f6a257', 2, 2, 'http://127.61.0.10:8461 http://127.61.0.10:8461', '\x010104965aa4c4b47c8826a07784ea40ad24587f0331975eb042daae98dbfa8b894ddac2380368cb9d44779abb95dc33ac558f0c3d7389b4b58407cb56f4ca3d55869157cf587a8db62ea919b0c66260e2a6c58e4c67a2fffde1d7083527ea22a32f26b11dbe34878edc1d82a0255670b73d2c7005b59afb72af32c97eede173bc95a5040d7dba640139f0440c750b595aa2a27bb49195c6e7a394cdfe8adbad6677b7173dae1078c0b88bd2970ca1c65f81af26eab5f2951a644ab93b39e071bf73360958194afa00029a3fa7490d1e817b13172c42e84de5d55792c6e32ad66620', '04965aa4c4b47c88', '{"dead": false, "kind": "Bearer", "basis": "266d7a853889b6530196b6e4dd767b82:b360f3f9148dddeb6ea0a17198ec742c:b12557e9699c33c8f536e011d5363e73:617f00784532208c79074a1254b207ee", "error": "", "scope": "", "spent": false, "tries": 0, "holder": "", "failures": 0, "lifetime": 315360000.0, "retry_at": 0.0, "obtained_at": 1794928482.960623, "leased_until": 0.0, "after_rejection": false}');
SELECT pg_catalog.setval('public.auth_group_id_seq', 3, true);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 24, true);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 113, true);
SELECT pg_catalog.setval('public.auth_user_groups_id_seq', 3, true);
SELECT pg_catalog.setval('public.auth_user_id_seq', 3, true);
SELECT pg_catalog.setval('public.auth_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessattempt_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accessfailurelog_id_seq', 1, false);
SELECT pg_catalog.setval('public.axes_accesslog_id_seq', 1, true);
SELECT pg_catalog.setval('public.demo_contact_id_seq', 2, true);
SELECT pg_catalog.setval('public.demo_order_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_admin_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 32, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 72, true);
SELECT pg_catalog.setval('public.outkey_auditrecord_id_seq', 68, true);
SELECT pg_catalog.setval('public.outkey_headerrow_id_seq', 4, true);
SELECT pg_catalog.setval('public.outkey_notice_id_seq', 1, true);
SELECT pg_catalog.setval('public.outkey_quarantine_id_seq', 2, true);
SELECT pg_catalog.setval('public.outkey_run_id_seq', 3, true);
SELECT pg_catalog.setval('public.outkey_secretvalue_id_seq', 33, true);
SELECT pg_catalog.setval('public.outkey_stream_id_seq', 29, true);
SELECT pg_catalog.setval('public.outkey_syncline_id_seq', 2, true);
SELECT pg_catalog.setval('public.outkey_syncmark_id_seq', 2, true);
SELECT pg_catalog.setval('public.procrastinate_events_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_jobs_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_periodic_defers_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_workers_id_seq', 1, false);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_group_id_94350c0c_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_permission_id_14a6b632_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.auth_user
    ADD CONSTRAINT auth_user_username_key UNIQUE (username);
ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.axes_accessattempt
    ADD CONSTRAINT axes_accessattempt_username_ip_address_user_agent_8ea22282_uniq UNIQUE (username, ip_address, user_agent);
ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptexpiration_pkey PRIMARY KEY (access_attempt_id);
ALTER TABLE ONLY public.axes_accessfailurelog
    ADD CONSTRAINT axes_accessfailurelog_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.axes_accesslog
    ADD CONSTRAINT axes_accesslog_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.demo_contact
    ADD CONSTRAINT demo_contact_external_id_key UNIQUE (external_id);
ALTER TABLE ONLY public.demo_contact
    ADD CONSTRAINT demo_contact_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.demo_order
    ADD CONSTRAINT demo_order_number UNIQUE (year, number);
ALTER TABLE ONLY public.demo_order
    ADD CONSTRAINT demo_order_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.demo_order
    ADD CONSTRAINT demo_order_reference_key UNIQUE (reference);
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.outkey_auditrecord
    ADD CONSTRAINT outkey_auditrecord_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_auditrecord
    ADD CONSTRAINT outkey_chain UNIQUE (stream_id, number);
ALTER TABLE ONLY public.outkey_configuration
    ADD CONSTRAINT outkey_configuration_name_key UNIQUE (name);
ALTER TABLE ONLY public.outkey_configuration
    ADD CONSTRAINT outkey_configuration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_duty
    ADD CONSTRAINT outkey_duty_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.outkey_habit
    ADD CONSTRAINT outkey_habit_pkey PRIMARY KEY (configuration);
ALTER TABLE ONLY public.outkey_headerrow
    ADD CONSTRAINT outkey_headerrow_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_knownkey
    ADD CONSTRAINT outkey_knownkey_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.outkey_notice
    ADD CONSTRAINT outkey_notice_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_syncmark
    ADD CONSTRAINT outkey_one_mark UNIQUE (line_id, target, record);
ALTER TABLE ONLY public.outkey_pace
    ADD CONSTRAINT outkey_pace_pkey PRIMARY KEY (configuration);
ALTER TABLE ONLY public.outkey_process
    ADD CONSTRAINT outkey_process_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_quarantine
    ADD CONSTRAINT outkey_quarantine_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_headerrow
    ADD CONSTRAINT outkey_row_position UNIQUE (configuration_id, "position");
ALTER TABLE ONLY public.outkey_run
    ADD CONSTRAINT outkey_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_secretvalue
    ADD CONSTRAINT outkey_secretvalue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_stream
    ADD CONSTRAINT outkey_stream_name_key UNIQUE (name);
ALTER TABLE ONLY public.outkey_stream
    ADD CONSTRAINT outkey_stream_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_syncline
    ADD CONSTRAINT outkey_syncline_name_key UNIQUE (name);
ALTER TABLE ONLY public.outkey_syncline
    ADD CONSTRAINT outkey_syncline_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_syncmark
    ADD CONSTRAINT outkey_syncmark_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_token
    ADD CONSTRAINT outkey_token_pkey PRIMARY KEY (configuration_id);
ALTER TABLE ONLY public.outkey_secretvalue
    ADD CONSTRAINT outkey_version UNIQUE (configuration_id, field, version);
ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp);
ALTER TABLE ONLY public.procrastinate_workers
    ADD CONSTRAINT procrastinate_workers_pkey PRIMARY KEY (id);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX auth_user_groups_group_id_97559544 ON public.auth_user_groups USING btree (group_id);
CREATE INDEX auth_user_groups_user_id_6a12ed8b ON public.auth_user_groups USING btree (user_id);
CREATE INDEX auth_user_user_permissions_permission_id_1fbb5f2c ON public.auth_user_user_permissions USING btree (permission_id);
CREATE INDEX auth_user_user_permissions_user_id_a95ead1b ON public.auth_user_user_permissions USING btree (user_id);
CREATE INDEX auth_user_username_6821ab7c_like ON public.auth_user USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accessattempt_ip_address_10922d9c ON public.axes_accessattempt USING btree (ip_address);
CREATE INDEX axes_accessattempt_user_agent_ad89678b ON public.axes_accessattempt USING btree (user_agent);
CREATE INDEX axes_accessattempt_user_agent_ad89678b_like ON public.axes_accessattempt USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessattempt_username_3f2d4ca0 ON public.axes_accessattempt USING btree (username);
CREATE INDEX axes_accessattempt_username_3f2d4ca0_like ON public.axes_accessattempt USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_ip_address_2e9f5a7f ON public.axes_accessfailurelog USING btree (ip_address);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda ON public.axes_accessfailurelog USING btree (user_agent);
CREATE INDEX axes_accessfailurelog_user_agent_ea145dda_like ON public.axes_accessfailurelog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4 ON public.axes_accessfailurelog USING btree (username);
CREATE INDEX axes_accessfailurelog_username_a8b7e8a4_like ON public.axes_accessfailurelog USING btree (username varchar_pattern_ops);
CREATE INDEX axes_accesslog_ip_address_86b417e5 ON public.axes_accesslog USING btree (ip_address);
CREATE INDEX axes_accesslog_user_agent_0e659004 ON public.axes_accesslog USING btree (user_agent);
CREATE INDEX axes_accesslog_user_agent_0e659004_like ON public.axes_accesslog USING btree (user_agent varchar_pattern_ops);
CREATE INDEX axes_accesslog_username_df93064b ON public.axes_accesslog USING btree (username);
CREATE INDEX axes_accesslog_username_df93064b_like ON public.axes_accesslog USING btree (username varchar_pattern_ops);
CREATE INDEX demo_contact_external_id_9c3ab3da_like ON public.demo_contact USING btree (external_id varchar_pattern_ops);
CREATE INDEX demo_order_contact_id_b8007638 ON public.demo_order USING btree (contact_id);
CREATE INDEX demo_order_reference_7f4131b9_like ON public.demo_order USING btree (reference varchar_pattern_ops);
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON public.django_admin_log USING btree (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON public.django_admin_log USING btree (user_id);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX idx_procrastinate_jobs_worker_not_null ON public.procrastinate_jobs USING btree (worker_id) WHERE ((worker_id IS NOT NULL) AND (status = 'doing'::public.procrastinate_job_status));
CREATE INDEX idx_procrastinate_workers_last_heartbeat ON public.procrastinate_workers USING btree (last_heartbeat);
CREATE INDEX outkey_audit_by_api ON public.outkey_auditrecord USING btree (configuration, id DESC);
CREATE INDEX outkey_configuration_name_47e0e0b6_like ON public.outkey_configuration USING btree (name varchar_pattern_ops);
CREATE INDEX outkey_duty_name_22cbf217_like ON public.outkey_duty USING btree (name varchar_pattern_ops);
CREATE INDEX outkey_habit_configuration_13a244da_like ON public.outkey_habit USING btree (configuration varchar_pattern_ops);
CREATE INDEX outkey_headerrow_configuration_id_79c3749c ON public.outkey_headerrow USING btree (configuration_id);
CREATE INDEX outkey_knownkey_key_id_87e31543_like ON public.outkey_knownkey USING btree (key_id varchar_pattern_ops);
CREATE INDEX outkey_notice_closed_at_133ea797 ON public.outkey_notice USING btree (closed_at);
CREATE UNIQUE INDEX outkey_one_current ON public.outkey_secretvalue USING btree (configuration_id, field) WHERE ((label)::text = 'current'::text);
CREATE UNIQUE INDEX outkey_one_open ON public.outkey_notice USING btree (kind, configuration, about) WHERE (closed_at IS NULL);
CREATE UNIQUE INDEX outkey_one_running ON public.outkey_run USING btree (line_id) WHERE ((state)::text = 'running'::text);
CREATE UNIQUE INDEX outkey_one_waiting ON public.outkey_run USING btree (line_id, dry_run) WHERE ((state)::text = 'waiting'::text);
CREATE INDEX outkey_pace_configuration_6a0ac85d_like ON public.outkey_pace USING btree (configuration varchar_pattern_ops);
CREATE INDEX outkey_process_id_5da3c6e4_like ON public.outkey_process USING btree (id varchar_pattern_ops);
CREATE INDEX outkey_quarantine_run_id_7088a876 ON public.outkey_quarantine USING btree (run_id);
CREATE INDEX outkey_run_by_line ON public.outkey_run USING btree (line_id, id DESC);
CREATE INDEX outkey_run_until_1ef2d2fb ON public.outkey_run USING btree (until);
CREATE INDEX outkey_secretvalue_configuration_id_1cd66d1f ON public.outkey_secretvalue USING btree (configuration_id);
CREATE INDEX outkey_secretvalue_key_id_8370b43d ON public.outkey_secretvalue USING btree (key_id);
CREATE INDEX outkey_secretvalue_key_id_8370b43d_like ON public.outkey_secretvalue USING btree (key_id varchar_pattern_ops);
CREATE INDEX outkey_stream_name_3439d0f6_like ON public.outkey_stream USING btree (name varchar_pattern_ops);
CREATE INDEX outkey_syncline_configuration_id_c5795a6a ON public.outkey_syncline USING btree (configuration_id);
CREATE INDEX outkey_syncline_name_e0440c22_like ON public.outkey_syncline USING btree (name varchar_pattern_ops);
CREATE INDEX outkey_token_key_id_b076d62c ON public.outkey_token USING btree (key_id);
CREATE INDEX outkey_token_key_id_b076d62c_like ON public.outkey_token USING btree (key_id varchar_pattern_ops);
CREATE INDEX procrastinate_events_job_id_fkey_v1 ON public.procrastinate_events USING btree (job_id);
CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON public.procrastinate_jobs USING btree (id, lock) WHERE (status = ANY (ARRAY['todo'::public.procrastinate_job_status, 'doing'::public.procrastinate_job_status]));
CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON public.procrastinate_jobs USING btree (lock) WHERE (status = 'doing'::public.procrastinate_job_status);
CREATE INDEX procrastinate_jobs_priority_idx_v1 ON public.procrastinate_jobs USING btree (priority DESC, id) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON public.procrastinate_jobs USING btree (queue_name);
CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON public.procrastinate_jobs USING btree (queueing_lock) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX procrastinate_periodic_defers_job_id_fkey_v1 ON public.procrastinate_periodic_defers USING btree (job_id);
CREATE TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN (((old.abort_requested = false) AND (new.abort_requested = true) AND (new.status = 'doing'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_notify_queue_abort_job_v1();
CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_notify_queue_job_inserted_v1();
CREATE TRIGGER procrastinate_trigger_abort_requested_events_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.abort_requested = true)) EXECUTE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1();
CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_unlink_periodic_defers_v1();
CREATE TRIGGER procrastinate_trigger_scheduled_events_v1 AFTER INSERT OR UPDATE ON public.procrastinate_jobs FOR EACH ROW WHEN (((new.scheduled_at IS NOT NULL) AND (new.status = 'todo'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1();
CREATE TRIGGER procrastinate_trigger_status_events_insert_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1();
CREATE TRIGGER procrastinate_trigger_status_events_update_v1 AFTER UPDATE OF status ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_update_v1();
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_group_id_97559544_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_groups
    ADD CONSTRAINT auth_user_groups_user_id_6a12ed8b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_user_user_permissions
    ADD CONSTRAINT auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.axes_accessattemptexpiration
    ADD CONSTRAINT axes_accessattemptex_access_attempt_id_6b73a47a_fk_axes_acce FOREIGN KEY (access_attempt_id) REFERENCES public.axes_accessattempt(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.demo_order
    ADD CONSTRAINT demo_order_contact_id_b8007638_fk_demo_contact_id FOREIGN KEY (contact_id) REFERENCES public.demo_contact(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.django_admin_log
    ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES public.auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_auditrecord
    ADD CONSTRAINT outkey_auditrecord_stream_id_720b8847_fk_outkey_stream_id FOREIGN KEY (stream_id) REFERENCES public.outkey_stream(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_headerrow
    ADD CONSTRAINT outkey_headerrow_configuration_id_79c3749c_fk_outkey_co FOREIGN KEY (configuration_id) REFERENCES public.outkey_configuration(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_quarantine
    ADD CONSTRAINT outkey_quarantine_run_id_7088a876_fk_outkey_run_id FOREIGN KEY (run_id) REFERENCES public.outkey_run(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_run
    ADD CONSTRAINT outkey_run_line_id_12530415_fk_outkey_syncline_id FOREIGN KEY (line_id) REFERENCES public.outkey_syncline(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_secretvalue
    ADD CONSTRAINT outkey_secretvalue_configuration_id_1cd66d1f_fk_outkey_co FOREIGN KEY (configuration_id) REFERENCES public.outkey_configuration(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_syncline
    ADD CONSTRAINT outkey_syncline_configuration_id_c5795a6a_fk_outkey_co FOREIGN KEY (configuration_id) REFERENCES public.outkey_configuration(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_syncmark
    ADD CONSTRAINT outkey_syncmark_line_id_e29d3ab8_fk_outkey_syncline_id FOREIGN KEY (line_id) REFERENCES public.outkey_syncline(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_token
    ADD CONSTRAINT outkey_token_configuration_id_18db3772_fk_outkey_co FOREIGN KEY (configuration_id) REFERENCES public.outkey_configuration(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES public.procrastinate_workers(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id);
