-- A database of outkey 0.2.0, written by the code of that version with the commands of
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
CREATE TABLE public.data_contacts (
    outkey_id bigint NOT NULL,
    outkey_line text,
    outkey_run text,
    number text NOT NULL,
    name text
);
ALTER TABLE public.data_contacts ALTER COLUMN outkey_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.data_contacts_outkey_id_seq
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
CREATE TABLE public.outkey_agreement (
    id bigint NOT NULL,
    record character varying(200) NOT NULL,
    key character varying(200) NOT NULL,
    api text NOT NULL,
    host text NOT NULL,
    is_pushed boolean NOT NULL,
    conflict text NOT NULL,
    line_id bigint NOT NULL
);
ALTER TABLE public.outkey_agreement ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_agreement_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
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
    actor character varying(200) DEFAULT ''::character varying NOT NULL,
    kind character varying(10),
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
CREATE TABLE public.outkey_delivery (
    id bigint NOT NULL,
    endpoint character varying(22) NOT NULL,
    key character varying(300) NOT NULL,
    event_id character varying(300) NOT NULL,
    event_type character varying(300) NOT NULL,
    nonce character varying(300) NOT NULL,
    fetch_id character varying(100) NOT NULL,
    received_at double precision NOT NULL,
    state character varying(10) NOT NULL,
    due_at double precision NOT NULL,
    attempts integer NOT NULL,
    reason text NOT NULL,
    records integer,
    generation integer NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT outkey_delivery_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT outkey_delivery_generation_check CHECK ((generation >= 0)),
    CONSTRAINT outkey_delivery_records_check CHECK ((records >= 0))
);
ALTER TABLE public.outkey_delivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_delivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
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
CREATE TABLE public.outkey_ledger (
    id bigint NOT NULL,
    record character varying(200) NOT NULL,
    digest character varying(64) NOT NULL,
    remote_id text NOT NULL,
    is_deleted boolean NOT NULL,
    creations integer NOT NULL,
    key character varying(64) NOT NULL,
    sent character varying(64) NOT NULL,
    line_id bigint NOT NULL,
    CONSTRAINT outkey_ledger_creations_check CHECK ((creations >= 0))
);
ALTER TABLE public.outkey_ledger ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_ledger_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_lineversion (
    id bigint NOT NULL,
    number integer NOT NULL,
    at double precision NOT NULL,
    actor character varying(150) NOT NULL,
    text text NOT NULL,
    summary text NOT NULL,
    line_id bigint NOT NULL,
    CONSTRAINT outkey_lineversion_number_check CHECK ((number >= 0))
);
ALTER TABLE public.outkey_lineversion ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_lineversion_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.outkey_quarantine (
    id bigint NOT NULL,
    number bigint NOT NULL,
    key character varying(200) NOT NULL,
    field text NOT NULL,
    reason text NOT NULL,
    run_id bigint NOT NULL,
    excerpt character varying(200) NOT NULL,
    kind character varying(20) NOT NULL,
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
CREATE TABLE public.outkey_sharedstate (
    id bigint NOT NULL,
    kind character varying(20) NOT NULL,
    key character varying(200) NOT NULL,
    generation bigint NOT NULL,
    value text NOT NULL,
    CONSTRAINT outkey_sharedstate_generation_check CHECK ((generation >= 0))
);
ALTER TABLE public.outkey_sharedstate ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outkey_sharedstate_id_seq
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
    configuration_id uuid NOT NULL,
    source text NOT NULL
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
CREATE TABLE public.outkey_usersettings (
    "user" character varying(64) NOT NULL,
    time_zone character varying(64) NOT NULL
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
INSERT INTO public.data_contacts VALUES
	(1, 'contacts', '1', 'c-1', 'First'),
	(2, 'contacts', '1', 'c-2', 'Second'),
	(3, 'contacts', '1', 'c-3', 'Third');
INSERT INTO public.django_migrations VALUES
	(1, 'outkey_embedded', '0001_database', '2026-11-18 01:49:21.829473+00'),
	(2, 'outkey', '0001_initial', '2026-11-18 01:49:22.865362+00'),
	(3, 'outkey', '0002_vouchers', '2026-11-18 01:49:22.946181+00'),
	(4, 'outkey', '0003_shared_state', '2026-11-18 01:49:23.162389+00'),
	(5, 'outkey', '0004_ledger', '2026-11-18 01:49:23.393789+00'),
	(6, 'outkey', '0005_view_data', '2026-11-18 01:49:23.460736+00'),
	(7, 'outkey', '0006_pairs', '2026-11-18 01:49:23.778087+00'),
	(8, 'outkey', '0007_line_versions', '2026-11-18 01:49:23.912867+00'),
	(9, 'outkey', '0008_user_settings', '2026-11-18 01:49:24.013314+00'),
	(10, 'outkey', '0009_audit_kinds', '2026-11-18 01:49:24.244347+00'),
	(11, 'outkey', '0010_audit_searches', '2026-11-18 01:49:24.313276+00'),
	(12, 'outkey', '0011_webhooks', '2026-11-18 01:49:24.40396+00'),
	(13, 'outkey', '0012_webhook_pages', '2026-11-18 01:49:24.441371+00'),
	(14, 'procrastinate', '0001_initial', '2026-11-18 01:49:24.561583+00'),
	(15, 'procrastinate', '0002_drop_started_at_column', '2026-11-18 01:49:24.576706+00'),
	(16, 'procrastinate', '0003_drop_started_at_column', '2026-11-18 01:49:24.612857+00'),
	(17, 'procrastinate', '0004_drop_procrastinate_version_table', '2026-11-18 01:49:24.641333+00'),
	(18, 'procrastinate', '0005_fix_procrastinate_fetch_job', '2026-11-18 01:49:24.665365+00'),
	(19, 'procrastinate', '0006_fix_trigger_status_events_insert', '2026-11-18 01:49:24.685361+00'),
	(20, 'procrastinate', '0007_add_queueing_lock_column', '2026-11-18 01:49:24.709688+00'),
	(21, 'procrastinate', '0008_close_fetch_job_race_condition', '2026-11-18 01:49:24.741573+00'),
	(22, 'procrastinate', '0009_add_defer_job_function', '2026-11-18 01:49:24.754439+00'),
	(23, 'procrastinate', '0010_add_procrastinate_periodic_defers', '2026-11-18 01:49:24.801362+00'),
	(24, 'procrastinate', '0011_add_foreign_key_index', '2026-11-18 01:49:24.826341+00'),
	(25, 'procrastinate', '0012_add_locks_to_periodic_defer', '2026-11-18 01:49:24.841034+00'),
	(26, 'procrastinate', '0013_fix_procrastinate_defer_periodic_job', '2026-11-18 01:49:24.863757+00'),
	(27, 'procrastinate', '0014_add_finish_job_and_retry_job_functions', '2026-11-18 01:49:24.874923+00'),
	(28, 'procrastinate', '0015_add_trigger_on_job_deletion', '2026-11-18 01:49:24.888767+00'),
	(29, 'procrastinate', '0016_delete_finished_jobs', '2026-11-18 01:49:24.89468+00'),
	(30, 'procrastinate', '0017_add_checks_to_finish_job', '2026-11-18 01:49:24.921303+00'),
	(31, 'procrastinate', '0018_add_checks_to_retry_job', '2026-11-18 01:49:24.936376+00'),
	(32, 'procrastinate', '0019_fix_finish_job_compat_issue', '2026-11-18 01:49:24.952415+00'),
	(33, 'procrastinate', '0020_add_index_on_procrastinate_jobs', '2026-11-18 01:49:24.965206+00'),
	(34, 'procrastinate', '0021_add_kwargs_to_defer_periodic_job', '2026-11-18 01:49:24.985224+00'),
	(35, 'procrastinate', '0022_null_locks_excluded', '2026-11-18 01:49:24.997921+00'),
	(36, 'procrastinate', '0023_remove_old_finish_job_function', '2026-11-18 01:49:25.010553+00'),
	(37, 'procrastinate', '0024_job_id_bigint', '2026-11-18 01:49:25.036001+00'),
	(38, 'procrastinate', '0025_add_models', '2026-11-18 01:49:25.050367+00'),
	(39, 'procrastinate', '0026_add_job_priority', '2026-11-18 01:49:25.074964+00'),
	(40, 'procrastinate', '0027_add_periodic_job_priority', '2026-11-18 01:49:25.084251+00'),
	(41, 'procrastinate', '0028_add_cancel_states', '2026-11-18 01:49:25.121572+00'),
	(42, 'procrastinate', '0029_add_additional_params_to_retry_job', '2026-11-18 01:49:25.136643+00'),
	(43, 'procrastinate', '0030_alter_procrastinateevent_options', '2026-11-18 01:49:25.142611+00'),
	(44, 'procrastinate', '0031_add_indexes_for_fetch_job', '2026-11-18 01:49:25.157097+00'),
	(45, 'procrastinate', '0032_pre_cancel_notification', '2026-11-18 01:49:25.177632+00'),
	(46, 'procrastinate', '0033_post_cancel_notification', '2026-11-18 01:49:25.231604+00'),
	(47, 'procrastinate', '0034_pre_add_heartbeat', '2026-11-18 01:49:25.25491+00'),
	(48, 'procrastinate', '0035_post_add_heartbeat', '2026-11-18 01:49:25.286552+00'),
	(49, 'procrastinate', '0036_add_worker_model', '2026-11-18 01:49:25.331107+00'),
	(50, 'procrastinate', '0037_pre_batch_defer_jobs', '2026-11-18 01:49:25.386289+00'),
	(51, 'procrastinate', '0038_post_batch_defer_jobs', '2026-11-18 01:49:25.413104+00'),
	(52, 'procrastinate', '0039_pre_priority_lock_fetch_job', '2026-11-18 01:49:25.451242+00'),
	(53, 'procrastinate', '0040_pre_retry_failed_job', '2026-11-18 01:49:25.465264+00'),
	(54, 'procrastinate', '0041_post_retry_failed_job', '2026-11-18 01:49:25.496268+00');
INSERT INTO public.outkey_agreement VALUES
	(1, '1', 'c-1', '{"name": "First"}', '{"name": "First", "number": "c-1"}', false, 'null', 2),
	(2, '2', 'c-2', '{"name": "Second"}', '{"name": "Second", "number": "c-2"}', false, 'null', 2),
	(3, '3', 'c-3', '{"name": "Third"}', '{"name": "Third", "number": "c-3"}', false, 'null', 2);
INSERT INTO public.outkey_auditrecord VALUES
	(1, 1, 1794966567934, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536373933342c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a22222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\xf2b226dd12c2c95fee800216d4d93311fde8e6266532a17187a219c64486abfe', 1, 'cli:root', 'change'),
	(2, 2, 1794966567934, 'sso', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536373933342c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2273736f222c22656666656374223a22222c226669656c6473223a5b5d2c226b6579223a22222c22746167223a226170693a636f6e66696775726174696f6e3a63726561746564227d', '\x380928a968d8763f7373454e32f7f57482cf5b75b4ef21d82bb9c35138295b61', 1, 'cli:root', 'change'),
	(3, 3, 1794966568138, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383133382c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b2277617265686f757365225d2c226b6579223a22222c22746167223a226170693a64617461626173653a6b657074227d', '\xd1241aaed37869a12380b694e414c9bfcdf753e9b775611a8cb3d807b730ea1d', 1, 'cli:root', 'change'),
	(4, 4, 1794966568146, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383134362c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b22636f6e7461637473225d2c226b6579223a22222c22746167223a226170693a706169723a6b657074227d', '\x74ea3f3b3d4c0deaa2a929b15447745957cb8f6baf227d60d638223b6613e535', 1, 'cli:root', 'change'),
	(5, 5, 1794966568245, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383234352c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a2263726561746564222c226669656c6473223a5b22636f6e7461637473225d2c226b6579223a22222c22746167223a226170693a6c696e653a6b657074227d', '\x2ff2f6849cbc8cfe6bf3b50deaba9ac1a58c0e9c2c64d08cc3beda65707ee185', 1, 'cli:root', 'change'),
	(6, 6, 1794966568245, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383234352c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a2263726561746564222c226669656c6473223a5b2273656e6420636f6e7461637473225d2c226b6579223a22222c22746167223a226170693a6c696e653a6b657074227d', '\x27336f58fa09991737a8a7f41637eb10608ec50ac0bce02ac044a55c61b8a345', 1, 'cli:root', 'change'),
	(7, 7, 1794966568245, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383234352c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a2263726561746564222c226669656c6473223a5b2277617265686f757365225d2c226b6579223a22222c22746167223a226170693a6c696e653a6b657074227d', '\x070cdb9521bb1257fe7904fe72a40b82d14dfa80933f26d225be3958228c7cfe', 1, 'cli:root', 'change'),
	(8, 8, 1794966568245, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383234352c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a2263726561746564222c226669656c6473223a5b22706175736564225d2c226b6579223a22222c22746167223a226170693a6c696e653a6b657074227d', '\x2843204107ed3d3106e73941825d817676166c250ce9526953218e803297bf11', 1, 'cli:root', 'change'),
	(9, 9, 1794966568773, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363536383737332c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b2263726d225d2c226b6579223a22222c22746167223a226170693a776562686f6f6b3a6b657074227d', '\x564acb9330ef8155af4a64c3d84d923da107de5e8a2266142f8e5b345eb57ca3', 1, 'cli:root', 'change'),
	(10, 1, 1794966585555, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363538353535352c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a2263726561746564222c226669656c6473223a5b22746f6b656e225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x545cbde1a28fee8105eb60cc1eede1a8d69b64483845feff34f982122df2f012', 2, 'cli:root', 'change'),
	(11, 1, 1794966596763, 'sso', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363539363736332c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2273736f222c22656666656374223a2263726561746564222c226669656c6473223a5b22636c69656e745f736563726574225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\x5312806318474bdf1a53727507e9d7a32c3d045ea91fbdc721a396764ad9215a', 3, 'cli:root', 'change'),
	(12, 1, 1794966610089, 'crm', '', '\x7b226174223a313739343936363631303038392c22617474656d7074223a226434653037376165353334366139376633376530643139313937303063656565222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a2263726d222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\xe87ab5467102205971756be290f496c29162a54d0a8e4a334093920f52f847b1', 4, '', NULL),
	(13, 2, 1794966610145, 'crm', 'ok', '\x7b226174223a313739343936363631303134352c22617474656d7074223a226434653037376165353334366139376633376530643139313937303063656565222c22636f6e66696775726174696f6e223a2263726d222c226475726174696f6e5f6d73223a31372c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\xed70538309a375883c6d2ee5af930a909e9e32402360ebebe06e7884c6974e9c', 4, '', NULL),
	(14, 1, 1794966624270, 'sso', '', '\x7b226174223a313739343936363632343237302c22617474656d7074223a223362643634653761663235613731363962373863396661346135663062653438222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a2273736f222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22436f6e74656e742d4c656e677468222c22436f6e74656e742d54797065225d2c226c696e65223a22222c226d6574686f64223a22504f5354222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f746f6b656e222c227265747279223a302c22746167223a22656e67696e653a746f6b656e3a696e74656e646564227d', '\xc64d8e0d36c41965c110a891decfe0fa80c9a03b4632a97f23506626e03608a1', 5, '', NULL),
	(15, 2, 1794966624333, 'sso', 'ok', '\x7b226174223a313739343936363632343333332c22617474656d7074223a223362643634653761663235613731363962373863396661346135663062653438222c22636f6e66696775726174696f6e223a2273736f222c226475726174696f6e5f6d73223a33382c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a746f6b656e3a656e646564227d', '\x7728d772ca19d4807145c23b156ae77bc263c455873efdfd3620beee1a056e94', 5, '', NULL),
	(16, 3, 1794966624430, 'sso', '', '\x7b226174223a313739343936363632343433302c22617474656d7074223a223035643563376534383063663764353338333533373536303435613132316162222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a2273736f222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f6563686f222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\x2c52665957fdbc1588df9807756f5db3fa2e2a42f975c3aa600e9b102880695e', 5, '', NULL),
	(17, 4, 1794966624449, 'sso', 'ok', '\x7b226174223a313739343936363632343434392c22617474656d7074223a223035643563376534383063663764353338333533373536303435613132316162222c22636f6e66696775726174696f6e223a2273736f222c226475726174696f6e5f6d73223a31322c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\xdca11eff1479171ac2a2db0b3afe2dbb6a10ce001ae2a2f52339f88a8ac1df92', 5, '', NULL),
	(18, 1, 1794966636972, 'crm', '', '\x7b226174223a313739343936363633363937322c22617474656d7074223a226231383365376436616235653535353461653938316462633763313165636635222c2261757468656e7469636174696f6e5f74797065223a22626561726572222c22636f6e66696775726174696f6e223a2263726d222c226865616465725f6e616d6573223a5b22486f7374222c22557365722d4167656e74222c22416363657074222c224163636570742d456e636f64696e67222c22417574686f72697a6174696f6e225d2c226c696e65223a22636f6e7461637473222c226d6574686f64223a22474554222c226f726967696e223a22687474703a2f2f3132372e36312e302e31303a38343631222c2270617468223a222f636f6e7461637473222c227265747279223a302c22746167223a22656e67696e653a73656e643a696e74656e646564227d', '\xf3d2e9b3c9a3654019c47a91a45d5948363621a6f2a21725d6ea81adb00e5d63', 6, '', NULL),
	(19, 2, 1794966637009, 'crm', 'ok', '\x7b226174223a313739343936363633373030392c22617474656d7074223a226231383365376436616235653535353461653938316462633763313165636635222c22636f6e66696775726174696f6e223a2263726d222c226475726174696f6e5f6d73223a32352c226f7574636f6d65223a226f6b222c22737461747573223a3230302c22746167223a22656e67696e653a73656e643a656e646564227d', '\x3cda1ecb7cccf17d5f1fa4da318d7f600f66e983e102f95b85c6a441950a8c9f', 6, '', NULL),
	(20, 1, 1794966660987, 'crm', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363636303938372c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a2263726d222c22656666656374223a22222c226669656c6473223a5b22706175736564225d2c226b6579223a22222c22746167223a226170693a6c696e653a706175736564227d', '\xeef9196e2d89415154275529368a27e01d32c8729b9e31993a04a8fda72fded3', 7, 'cli:root', 'change'),
	(21, 1, 1794966670063, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363637303036332c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b2263726d222c22736563726574225d2c226b6579223a22222c22746167223a226170693a7365637265743a736574227d', '\xdf4b5a63f01a18387a4b00426e17d409c7d7ad6637963d1936b759fbd0592ebd', 8, 'cli:root', 'change'),
	(22, 1, 1794966681263, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363638313236332c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b2272656164222c2273656e64225d2c226b6579223a226369222c22746167223a2270656f706c653a6170695f746f6b656e3a63726561746564227d', '\xb78fbce7bd6911189af277f04f50ab127047a9e860d3811812655320eca0b91b', 9, 'cli:root', 'change'),
	(23, 1, 1794966693920, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363639333932302c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b2272656164225d2c226b6579223a226f6c64222c22746167223a2270656f706c653a6170695f746f6b656e3a63726561746564227d', '\x0493d5ac056254065cfc924f6e587cf486942101863d14d4b9f354335800d45c', 10, 'cli:root', 'change'),
	(24, 1, 1794966708362, '', '', '\x7b226163746f72223a22636c693a726f6f74222c226174223a313739343936363730383336322c226368616e676573223a5b5d2c22636f6e66696775726174696f6e223a22222c22656666656374223a22222c226669656c6473223a5b5d2c226b6579223a226f6c64222c22746167223a2270656f706c653a6170695f746f6b656e3a7265766f6b6564227d', '\x90cbbe188786fb375592952d15f201aa4f2cd7c0a213d162c352cc25c9ac631e', 11, 'cli:root', 'change');
INSERT INTO public.outkey_configuration VALUES
	('c9f26673-8edb-4da2-8228-1366adbc9f5e', 1, 2, 'sso', 'http://127.61.0.10:8461', 'production', 'internal', true, 'bearer', '{"notes": "", "preset": "", "script": "", "username": "", "proxy.url": "", "login.body": "", "login.path": "", "login.token": "", "oauth2.dpop": false, "tls.ca_file": "", "login.format": "json", "login.method": "POST", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_header": "Authorization", "token_source": "oauth2", "oauth2.issuer": "", "limits.retries": 2, "proxy.username": "", "script_enabled": true, "key_as_username": false, "oauth2.audience": "", "oauth2.resource": "", "login.expires_in": "", "oauth2.client_id": "invented-client", "oauth2.token_url": "http://127.61.0.10:8461/token", "login.logout_path": "", "oauth2.device_url": "", "login.expires_unit": "s", "login.refresh_body": "", "login.refresh_path": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "login.refresh_token": "", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "login.lifetime_seconds": 3300, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{"accepted_at": 1794966624.449599}', 0, NULL),
	('a853bbbb-35ed-4a3b-9c85-2059728d4d39', 1, 2, 'crm', 'http://127.61.0.10:8461', 'production', 'internal', true, 'bearer', '{"notes": "", "preset": "", "script": "", "username": "", "proxy.url": "", "login.body": "", "login.path": "", "login.token": "", "oauth2.dpop": false, "tls.ca_file": "", "login.format": "json", "login.method": "POST", "oauth2.extra": {}, "oauth2.grant": "client_credentials", "oauth2.scope": "", "token_header": "Authorization", "token_source": "entered", "oauth2.issuer": "", "limits.retries": 2, "proxy.username": "", "script_enabled": true, "key_as_username": false, "oauth2.audience": "", "oauth2.resource": "", "login.expires_in": "", "oauth2.client_id": "", "oauth2.token_url": "", "login.logout_path": "", "oauth2.device_url": "", "login.expires_unit": "s", "login.refresh_body": "", "login.refresh_path": "", "oauth2.body_format": "form", "oauth2.client_auth": "body", "limits.read_timeout": 15, "limits.runs_at_once": 2, "login.refresh_token": "", "tls.minimum_version": "1.2", "limits.total_timeout": 60, "verification.compare": true, "oauth2.leeway_seconds": 60, "oauth2.revocation_url": "", "limits.connect_timeout": 5, "login.lifetime_seconds": 3300, "tls.client_certificate": "", "verification.test_path": "/", "oauth2.authorization_url": "", "oauth2.introspection_url": "", "verification.test_method": "GET", "limits.response_mebibytes": 32, "verification.follow_clock": false, "verification.expired_marker": "", "verification.accepted_statuses": "200-299", "oauth2.default_lifetime_seconds": 3300, "verification.forbidden_means_expired": false}', false, true, false, NULL, NULL, NULL, NULL, '', '{"accepted_at": 1794966610.1447065}', 0, NULL);
INSERT INTO public.outkey_knownkey VALUES
	('2113a3136cd2606a', '\xa9d7a16d07d2d9c022be33e02fb4b16f59961f7cff49bb7d6abe3c2a0de73357');
INSERT INTO public.outkey_ledger VALUES
	(1, '1', '74bc20504bdfb82435ad4503f1ce85ea4818c1374f4b942666e884823d44e029', 'c-1', false, 0, '', '', 2),
	(2, '2', '519989ec3ed3b21ed9d1ad468e7696b8f47f7d81b5aca41f2212f2eab7fc8468', 'c-2', false, 0, '', '', 2),
	(3, '3', '7499ba6aaf3d7285fa6d14ecb27963c0dace69ddebb213f003df8ab7198f768c', 'c-3', false, 0, '', '', 2);
INSERT INTO public.outkey_lineversion VALUES
	(1, 1, 1794966568.410232, 'cli:root', 'configuration = "crm"
method = "GET"
path = "/contacts"
direction = "pull"
target = "table:contacts"
keys = ["number"]
records = "items"
schedule = "0 5 * * *"
[[fields]]
api = "id"
host = "number"
[[fields]]
api = "full_name"
host = "name"', '{"text": "created"}', 1),
	(2, 1, 1794966568.509662, 'cli:root', 'configuration = "crm"
method = "POST"
path = "/"
direction = "push"
target = "table:contacts"
remote_id = "id"
[create]
method = "POST"
path = "/contacts"
[update]
method = "POST"
path = "/contacts/{remote_id}"
[[fields]]
api = "id"
host = "number"
[[fields]]
api = "full_name"
host = "name"', '{"text": "created"}', 2),
	(3, 1, 1794966568.6239, 'cli:root', 'configuration = "crm"
method = "GET"
path = "/contacts"
direction = "pull"
target = "table:warehouse.contacts"
keys = ["number"]
records = "items"
[[fields]]
api = "id"
host = "number"', '{"text": "created"}', 3),
	(4, 1, 1794966568.724097, 'cli:root', 'configuration = "crm"
method = "GET"
path = "/contacts"
direction = "pull"
target = "table:paused"
keys = ["number"]
records = "items"
[[fields]]
api = "id"
host = "number"', '{"text": "created"}', 4);
INSERT INTO public.outkey_run VALUES
	(1, '1c1a6040e25823906ca7e81d46c544bba81ed8a0962b63a82a562e318e51a65a', 'cli:root', 'done', false, '{"position": {}, "cursor": "", "since": "", "full_at": 1794966636.855211, "retry_of": "", "worked": 0.3214048649997494, "notes": [{"text": "table {table}: created: {columns}", "values": {"table": "contacts", "columns": "number text, name text"}}]}', '{"failed": 0, "created": 3, "deleted": 0, "updated": 0, "archived": 0, "children": {"failed": 0, "created": 0, "deleted": 0, "updated": 0, "unchanged": 0, "without_list": 0}, "unchanged": 0, "changed_fields": {}}', 1, 1794966636.855211, 1794966637.247495, '', 3, 1794966757.203119, 0, 1),
	(2, 'a598decc8b8d5868b62c2c75fc24810f7e3c61a22b9a83d24a1262b5ebcfc8b9', 'cli:root', 'done', false, '{"position": {}, "cursor": "", "since": "", "full_at": 1794966649.835004, "retry_of": "", "worked": 0.224175018999631}', '{"failed": 0, "created": 0, "deleted": 0, "updated": 0, "archived": 0, "children": {"failed": 0, "created": 0, "deleted": 0, "updated": 0, "unchanged": 0, "without_list": 0}, "unchanged": 3, "changed_fields": {}}', 1, 1794966649.835004, 1794966650.158583, '', 3, 1794966770.045909, 0, 2);
INSERT INTO public.outkey_secretvalue VALUES
	(3, 'token', 'cli:root', 1, 'current', 'http://127.61.0.10:8461', '', '\x01012113a3136cd2606a517937e3ffd76d43df73b350cbd8daff8a3eeca885c62555b51d188575a1633b9a4a8488de152fb0ed1db97fea40c12f1f6fd29bd692575d404369f87a14b756bec150622aaa5b8ed9ed8ab7f96f9991ac18d3f72723dbd0d1d8b6068a15a7fecec57d506f23be0b3378b74500618ef22e3444d5db3d7d84fbdc3b72dbc80775453b7255e7ad48b30349a77898500a849dfda00c7bb18a26', '2113a3136cd2606a', 1794966585.5939367, 'a853bbbb-35ed-4a3b-9c85-2059728d4d39'),
	(4, 'voucher', '', 2, 'current', '', '', '\x01012113a3136cd2606aafaa531ba8537774e28bf2dc9d7c138ab884f478998c69a2c39035c4c0b03ecd477e8adeb7c68f011fc053b660502ebda02e6a04b6144a4de344d76ed3274b0a7b94a7dd68e373320e5d4e5d45c85f3f41fa3ce05718cdfd4c7086bc0ac4f27fc5531d04eeed42143bb428996a3d270dbcff158e60d5744a82f1bba9e5ab53dc1087c06914420227f4c0edae5d746f5b707a649b3502b4aa58dfeb3786c11098fc823a7f0b06ec34c3f55f96622eac110fc819d8dc516518178999d2de129dd7775d9fd35cad38110a69e923ffdf69f63d65bbb40983aeab0e99ad5435c860d79d96e7bd4537a2e1919816172b1831e6043d75178c81cb3d5b9059ca41a2e59ef84df21e8e571264ac796d663dc28932533d2d0eded7665406093980882d3ef57a082ac68d374a954b92523a65b0b619e5367e668b8afc1bfaa6e33ff5e63d8d31113649a9099544f5c6e960b1100a235a51d2284545d951', '2113a3136cd2606a', NULL, 'a853bbbb-35ed-4a3b-9c85-2059728d4d39'),
	(5, 'client_secret', 'cli:root', 1, 'current', 'http://127.61.0.10:8461 http://127.61.0.10:8461', '', '\x01012113a3136cd2606a5df65a5e51bb06eb610a971736419557fbe6af7ce4207b49d222c98920fb5501e69398de071f5241692ef1e48cd2b3fef64de9d3a9035872f68039fcfc559e31e7c75cefd97d9a8f4cb5ca75784d5d926e880a77e8a6335d6fa22af0da72a802d604ffecbe1afdc2a8e75e7fa953a1981177ff3823ae35ef38e301163d011c02d4d9e7ad50f55a145dd33e83eac9d6a6c50423bbd7533034', '2113a3136cd2606a', 1794966596.841532, 'c9f26673-8edb-4da2-8228-1366adbc9f5e'),
	(6, 'voucher', '', 2, 'current', '', '', '\x01012113a3136cd2606a23619de41485c9763faad4cfb9bca4013d57c8fdd13bc81e2f804ac853d3d53d7cd95fe939fbacbfebbf19aa11a63f3844e217e5caa1f41e63e8736f85b9530befa5fb15859f6d8692a2408eb326166bfec4f140e9938b522b61435ca457f331f453c722ebf069b2d0857fe1d5e47867f0adc10b63940d115f93f7e0a1dda06c44c9d4e6dcd8daa1e782b1c867401007a0690e49d48117d31942548e7d372ba33d8a8c286bcd616882e5cd4d663546147f240c60202c2336513888eb857a571efa613edfb77e1c5780834c98fdde7aae2ecdfac670e45cbd19bcf9cb72282365dd6b72a1edaca4b9e4ade403bb7c816be97ef712b0c481fcdebb40d5914effe6e77636369966d87a08c67606b7c8301c7eaa9c5edea8e23dde7015b5b2bf19d204b05f582df08a124d2c720fe7b13c1dc2f4af7808845863ed840f467be10a9ce50a08a1b57d84f4a85a4699fb38a29d58b20ff2b2b3d8d629c028d008e53d02b4ad90b11d1e82f52dcddcdd17719bd7e6b2c57c9a157aa4f502f2ae1483add2b51093af19976b57c7fc649bace50d222dff429a387d3c32389e7cd9a1067a97c89dd9c33c5a1f809ba4c1ebdcdb8fb125e263d927b7d69a69f30b9b80d3c3867a493e3ef6cfd94fbd16aa1f8e87acb775d1555b61fb84ff726c2337b495ab55ad0f9483ec2953ceeaff237e0b96af61f9d4c276b616f458d20a36297e3673c4b68f69f40ff7c1cde4550d66ce5c531d726310975f9a25c8', '2113a3136cd2606a', NULL, 'c9f26673-8edb-4da2-8228-1366adbc9f5e');
INSERT INTO public.outkey_sharedstate VALUES
	(1, 'database', 'warehouse', 1, '{"url": "env:WAREHOUSE_URL"}'),
	(3, 'hook_endpoint', '24AXSG0HjXZtlRDcc1V9Rg', 1, '{"webhook": "crm"}'),
	(5, 'table', 'table:contacts', 2, '{"columns": {"number": {"kind": "text"}, "name": {"kind": "text"}}, "keys": ["number"], "archives": false, "id_column": "outkey_id", "fills_ids": false, "is_made": true, "is_partial": false, "refilled_by": [], "first_id": 1, "next_id": 1}'),
	(6, 'metric_runs', 'contacts', 1, '{"runs": {"done": 1}, "records": {"created": 3}, "done_at": 1794966637.247495, "counted": {"1": {"created": 3}}}'),
	(2, 'pair', 'contacts', 3, '{"pull": "contacts", "push": "send contacts", "conflict": "host"}'),
	(7, 'metric_runs', 'send contacts', 1, '{"runs": {"done": 1}, "records": {"unchanged": 3}, "done_at": 1794966650.158583, "counted": {"2": {"unchanged": 3}}}'),
	(8, 'paused_line', 'paused', 1, '{"at": 1794966661.00659}'),
	(4, 'webhook', 'crm', 2, '{"settings": {"scheme": "hmac", "line": "warehouse", "signature_header": "X-Signature"}, "endpoint": "24AXSG0HjXZtlRDcc1V9Rg", "paused": false, "secrets": {"bodies": {"version": 1, "sealed": "AQEhE6MTbNJgajPYpupiTRzrMoknNxx2XzY2z9vf9fO0uy0nVvr4kplYzWtxFcemoLaLERySnmT82qjMu8L8vVdoCnkJTkYZRHlOCvp7cE/m13GKNOg0IPjo4caSR6dS7Oem1uQpWLUYVwLocGx3is8eaQwuxR9RaS/0Qrn3SfzkrIaSyy8Iqxl91C1cmmJZA8bwLzmMykK1qyXN7JyzW5So", "set_at": 1794966568.785061, "set_by": ""}, "secret": {"version": 1, "sealed": "AQEhE6MTbNJgarvZTZyBwrDsE/3IEHFzHv2HhLmptsN5fbeCpESTeJwSnJyf0oeeefxMdJkJAGKWKdrJmtihjYBg1lXpPLzC3jiYWpkj2zl7/veRFR1r+yK3PA3vY8F1JDU1S3c6VRNANJ7MEDuMp8QFMxNeMkIM5UgbDZYO00JIsYDKzaRnIly915MAoAsZDAM1ZFAP0T7WWeIC/Pmuyh13", "set_at": 1794966670.106464, "set_by": "cli:root"}}}'),
	(9, 'api_token_name', 'ci', 1, '{"digest": "d4d7606e919b2f04347d9ef47832663321cde0b8720e6f385f0bc84b9786600f"}'),
	(10, 'api_token', 'd4d7606e919b2f04347d9ef47832663321cde0b8720e6f385f0bc84b9786600f', 1, '{"name": "ci", "digest": "d4d7606e919b2f04347d9ef47832663321cde0b8720e6f385f0bc84b9786600f", "scopes": ["read", "send"], "created_at": 1794966681.237255, "created_by": "cli:root", "records": null, "expires_at": null, "revoked_at": null, "allow_internal": false, "per_minute": 6000}'),
	(11, 'api_token_name', 'old', 1, '{"digest": "1509ee75dcbf017e99f64290441e9128a417aadd10a30a206b2f80d63bad9d7d"}'),
	(12, 'api_token', '1509ee75dcbf017e99f64290441e9128a417aadd10a30a206b2f80d63bad9d7d', 2, '{"name": "old", "digest": "1509ee75dcbf017e99f64290441e9128a417aadd10a30a206b2f80d63bad9d7d", "scopes": ["read"], "created_at": 1794966693.857263, "created_by": "cli:root", "records": null, "expires_at": null, "revoked_at": 1794966708.339318, "allow_internal": false, "per_minute": 6000}');
INSERT INTO public.outkey_stream VALUES
	(1, '2113a3136cd2606a.ff8824a76548a60b', 0, '\x', '\x'),
	(2, '2113a3136cd2606a.fc233c937426d3e1', 0, '\x', '\x'),
	(3, '2113a3136cd2606a.857ea8f5a0274a64', 0, '\x', '\x'),
	(4, '2113a3136cd2606a.78b09002baf3efdf', 0, '\x', '\x'),
	(5, '2113a3136cd2606a.5823e95a5af2ad6b', 0, '\x', '\x'),
	(6, '2113a3136cd2606a.a152c0563e78403b', 0, '\x', '\x'),
	(7, '2113a3136cd2606a.a21479969356d0f6', 0, '\x', '\x'),
	(8, '2113a3136cd2606a.150a7ed1169d6c64', 0, '\x', '\x'),
	(9, '2113a3136cd2606a.63abe80665b95e6b', 0, '\x', '\x'),
	(10, '2113a3136cd2606a.2c2b236727259b0e', 0, '\x', '\x'),
	(11, '2113a3136cd2606a.5897eb69ddbe7e11', 0, '\x', '\x');
INSERT INTO public.outkey_syncline VALUES
	(1, 'contacts', 'GET', '/contacts', '{"keys": ["number"], "fields": [{"api": "id", "host": "number"}, {"api": "full_name", "host": "name"}], "target": "table:contacts", "records": "items", "schedule": "0 5 * * *", "direction": "pull"}', 'a853bbbb-35ed-4a3b-9c85-2059728d4d39', ''),
	(2, 'send contacts', 'POST', '/', '{"create": {"path": "/contacts", "method": "POST"}, "fields": [{"api": "id", "host": "number"}, {"api": "full_name", "host": "name"}], "target": "table:contacts", "update": {"path": "/contacts/{remote_id}", "method": "POST"}, "direction": "push", "remote_id": "id"}', 'a853bbbb-35ed-4a3b-9c85-2059728d4d39', ''),
	(3, 'warehouse', 'GET', '/contacts', '{"keys": ["number"], "fields": [{"api": "id", "host": "number"}], "target": "table:warehouse.contacts", "records": "items", "direction": "pull"}', 'a853bbbb-35ed-4a3b-9c85-2059728d4d39', ''),
	(4, 'paused', 'GET', '/contacts', '{"keys": ["number"], "fields": [{"api": "id", "host": "number"}], "target": "table:paused", "records": "items", "direction": "pull"}', 'a853bbbb-35ed-4a3b-9c85-2059728d4d39', '');
INSERT INTO public.outkey_token VALUES
	('c9f26673-8edb-4da2-8228-1366adbc9f5e', 2, 2, 'http://127.61.0.10:8461 http://127.61.0.10:8461', '\x01012113a3136cd2606aacf08f0821e94158f5abbf63a1a846d88208469016e551e73556d20048adf5c68eb24c9395db5ae8fc13393674041c8e52bc6167d4bfff0c3e926acd7dc768a04fe33eacf60d71501b58e954f431645dab1e868d31d4d9681af6dc4584dccafa78700ed1a1a39fdc2a551b0367eeef97fafdc7a4f83df18b96ae6eb82f1c97e81e7383dae04da34b58fe6cc398c5181c57f7dfac97f729a34be83964499c17b597ea04a917b2959070891c2a94298402fb09e9d86fb5f3df00342e16d6f43e2a82dbfbf339936c94f1c36509c49c0b7bcc93b3a5cd0e1efa', '2113a3136cd2606a', '{"dead": false, "kind": "Bearer", "basis": "e2397214e9e6db2d4e832a5a2cf5df33:b360f3f9148dddeb6ea0a17198ec742c:b12557e9699c33c8f536e011d5363e73:", "error": "", "scope": "", "spent": false, "tries": 0, "holder": "", "entered": "", "failures": 0, "lifetime": 315360000.0, "retry_at": 0.0, "obtained_at": 1794966624.2374718, "leased_until": 0.0, "after_rejection": false}');
SELECT pg_catalog.setval('public.data_contacts_outkey_id_seq', 3, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 54, true);
SELECT pg_catalog.setval('public.outkey_agreement_id_seq', 3, true);
SELECT pg_catalog.setval('public.outkey_auditrecord_id_seq', 24, true);
SELECT pg_catalog.setval('public.outkey_delivery_id_seq', 1, false);
SELECT pg_catalog.setval('public.outkey_headerrow_id_seq', 1, false);
SELECT pg_catalog.setval('public.outkey_ledger_id_seq', 3, true);
SELECT pg_catalog.setval('public.outkey_lineversion_id_seq', 4, true);
SELECT pg_catalog.setval('public.outkey_quarantine_id_seq', 1, false);
SELECT pg_catalog.setval('public.outkey_run_id_seq', 2, true);
SELECT pg_catalog.setval('public.outkey_secretvalue_id_seq', 6, true);
SELECT pg_catalog.setval('public.outkey_sharedstate_id_seq', 13, true);
SELECT pg_catalog.setval('public.outkey_stream_id_seq', 11, true);
SELECT pg_catalog.setval('public.outkey_syncline_id_seq', 4, true);
SELECT pg_catalog.setval('public.outkey_syncmark_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_events_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_jobs_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_periodic_defers_id_seq', 1, false);
SELECT pg_catalog.setval('public.procrastinate_workers_id_seq', 1, false);
ALTER TABLE ONLY public.data_contacts
    ADD CONSTRAINT data_contacts_pkey PRIMARY KEY (outkey_id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_agreement
    ADD CONSTRAINT outkey_agreement_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_auditrecord
    ADD CONSTRAINT outkey_auditrecord_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_auditrecord
    ADD CONSTRAINT outkey_chain UNIQUE (stream_id, number);
ALTER TABLE ONLY public.outkey_configuration
    ADD CONSTRAINT outkey_configuration_name_key UNIQUE (name);
ALTER TABLE ONLY public.outkey_configuration
    ADD CONSTRAINT outkey_configuration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_delivery
    ADD CONSTRAINT outkey_delivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_headerrow
    ADD CONSTRAINT outkey_headerrow_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_knownkey
    ADD CONSTRAINT outkey_knownkey_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.outkey_ledger
    ADD CONSTRAINT outkey_ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_lineversion
    ADD CONSTRAINT outkey_lineversion_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_agreement
    ADD CONSTRAINT outkey_one_agreement UNIQUE (line_id, record);
ALTER TABLE ONLY public.outkey_delivery
    ADD CONSTRAINT outkey_one_delivery UNIQUE (endpoint, key);
ALTER TABLE ONLY public.outkey_ledger
    ADD CONSTRAINT outkey_one_ledger_entry UNIQUE (line_id, record);
ALTER TABLE ONLY public.outkey_lineversion
    ADD CONSTRAINT outkey_one_line_version UNIQUE (line_id, number);
ALTER TABLE ONLY public.outkey_syncmark
    ADD CONSTRAINT outkey_one_mark UNIQUE (line_id, target, record);
ALTER TABLE ONLY public.outkey_sharedstate
    ADD CONSTRAINT outkey_one_state UNIQUE (kind, key);
ALTER TABLE ONLY public.outkey_quarantine
    ADD CONSTRAINT outkey_quarantine_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_headerrow
    ADD CONSTRAINT outkey_row_position UNIQUE (configuration_id, "position");
ALTER TABLE ONLY public.outkey_run
    ADD CONSTRAINT outkey_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_secretvalue
    ADD CONSTRAINT outkey_secretvalue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outkey_sharedstate
    ADD CONSTRAINT outkey_sharedstate_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.outkey_usersettings
    ADD CONSTRAINT outkey_usersettings_pkey PRIMARY KEY ("user");
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
CREATE INDEX idx_procrastinate_jobs_worker_not_null ON public.procrastinate_jobs USING btree (worker_id) WHERE ((worker_id IS NOT NULL) AND (status = 'doing'::public.procrastinate_job_status));
CREATE INDEX idx_procrastinate_workers_last_heartbeat ON public.procrastinate_workers USING btree (last_heartbeat);
CREATE INDEX outkey_agreement_conflict ON public.outkey_agreement USING btree (line_id, record) WHERE (NOT (conflict = 'null'::text));
CREATE INDEX outkey_agreement_key ON public.outkey_agreement USING btree (line_id, key);
CREATE INDEX outkey_audit_by_api ON public.outkey_auditrecord USING btree (configuration, id DESC);
CREATE INDEX outkey_audit_by_kind ON public.outkey_auditrecord USING btree (kind, id DESC) WHERE (kind IS NOT NULL);
CREATE INDEX outkey_audit_of_actor ON public.outkey_auditrecord USING btree (actor, kind, id DESC) WHERE (kind IS NOT NULL);
CREATE INDEX outkey_audit_of_api ON public.outkey_auditrecord USING btree (configuration, kind, id DESC) WHERE (kind IS NOT NULL);
CREATE INDEX outkey_configuration_health ON public.outkey_configuration USING btree (active, needs_secret, needs_person, stores_secret, paused_at, expires_on, cause, tested_revision, revision, name);
CREATE INDEX outkey_configuration_name_47e0e0b6_like ON public.outkey_configuration USING btree (name varchar_pattern_ops);
CREATE INDEX outkey_delivery_counts ON public.outkey_delivery USING btree (endpoint, state, received_at);
CREATE INDEX outkey_delivery_due ON public.outkey_delivery USING btree (due_at) WHERE ((state)::text = 'received'::text);
CREATE INDEX outkey_delivery_inbox ON public.outkey_delivery USING btree (endpoint, id DESC);
CREATE INDEX outkey_delivery_received_at_db3937af ON public.outkey_delivery USING btree (received_at);
CREATE INDEX outkey_headerrow_configuration_id_79c3749c ON public.outkey_headerrow USING btree (configuration_id);
CREATE UNIQUE INDEX outkey_keys_2e9506b81fe43e35 ON public.data_contacts USING btree (number);
CREATE INDEX outkey_knownkey_key_id_87e31543_like ON public.outkey_knownkey USING btree (key_id varchar_pattern_ops);
CREATE INDEX outkey_ledger_announced ON public.outkey_ledger USING btree (line_id, record) WHERE (NOT ((key)::text = ''::text));
CREATE INDEX outkey_ledger_remote_id ON public.outkey_ledger USING btree (line_id, remote_id) WHERE (NOT (remote_id = ''::text));
CREATE UNIQUE INDEX outkey_one_current ON public.outkey_secretvalue USING btree (configuration_id, field) WHERE ((label)::text = 'current'::text);
CREATE UNIQUE INDEX outkey_one_nonce ON public.outkey_delivery USING btree (endpoint, nonce) WHERE (NOT ((nonce)::text = ''::text));
CREATE UNIQUE INDEX outkey_one_running ON public.outkey_run USING btree (line_id) WHERE ((state)::text = 'running'::text);
CREATE UNIQUE INDEX outkey_one_waiting ON public.outkey_run USING btree (line_id, dry_run) WHERE ((state)::text = 'waiting'::text);
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
CREATE INDEX outkey_usersettings_user_cac7c649_like ON public.outkey_usersettings USING btree ("user" varchar_pattern_ops);
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
ALTER TABLE ONLY public.outkey_agreement
    ADD CONSTRAINT outkey_agreement_line_id_5790e59f_fk_outkey_syncline_id FOREIGN KEY (line_id) REFERENCES public.outkey_syncline(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_auditrecord
    ADD CONSTRAINT outkey_auditrecord_stream_id_720b8847_fk_outkey_stream_id FOREIGN KEY (stream_id) REFERENCES public.outkey_stream(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_headerrow
    ADD CONSTRAINT outkey_headerrow_configuration_id_79c3749c_fk_outkey_co FOREIGN KEY (configuration_id) REFERENCES public.outkey_configuration(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_ledger
    ADD CONSTRAINT outkey_ledger_line_id_e3c276c6_fk_outkey_syncline_id FOREIGN KEY (line_id) REFERENCES public.outkey_syncline(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.outkey_lineversion
    ADD CONSTRAINT outkey_lineversion_line_id_930e93be_fk_outkey_syncline_id FOREIGN KEY (line_id) REFERENCES public.outkey_syncline(id) DEFERRABLE INITIALLY DEFERRED;
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
