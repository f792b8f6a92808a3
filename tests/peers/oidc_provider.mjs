// panva's oidc-provider, a certified authorization server, on loopback.
//
//   node oidc_provider.mjs SETTINGS     settings as JSON, see `oidc_running` in Python
//
// Listens on two free ports, http and https, and prints them as one line of JSON. Both are issuers
// of their own with one memory. Clients come with the settings, and keys are files in the working
// directory. The routes that begin with an underscore are ours, all others are the library's.

import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const settings = JSON.parse(process.argv[2]);
const library = (file) => import(pathToFileURL(path.join(settings.node_modules, file)));

const { default: Provider, errors } = await library('oidc-provider/lib/index.js');
const { createMemoryAdapter } = await library('oidc-provider/lib/adapters/memory_adapter.js');
const { default: validateDpop, checkDpopReplay } = await library(
  'oidc-provider/lib/helpers/validate_dpop.js',
);
const { default: thumbprintOf } = await library(
  'oidc-provider/lib/helpers/certificate_thumbprint.js',
);
const { default: challenges } = await library(
  'oidc-provider/lib/shared/set_www_authenticate_header.js',
);
const { normalize } = await library('oidc-provider/lib/helpers/user_codes.js');

const API_SCOPES = ['api:read', 'api:write'];
const USER = 'bob';
const memory = createMemoryAdapter();

// ── the provider ────────────────────────────────────────────────────────────────────────────

const certificateOf = (ctx) => ctx.socket.getPeerX509Certificate?.();

function makeProvider(issuer, tlsIssuer) {
  return new Provider(issuer, {
    adapter: memory,
    clients: settings.clients,
    scopes: ['openid', 'offline_access', ...API_SCOPES],
    clientAuthMethods: [
      'client_secret_basic',
      'client_secret_post',
      'client_secret_jwt',
      'private_key_jwt',
      'tls_client_auth',
      'self_signed_tls_client_auth',
      'none',
    ],
    cookies: { keys: ['made up'] },
    discovery: {
      mtls_endpoint_aliases: {
        token_endpoint: `${tlsIssuer}/token`,
        introspection_endpoint: `${tlsIssuer}/token/introspection`,
        revocation_endpoint: `${tlsIssuer}/token/revocation`,
        device_authorization_endpoint: `${tlsIssuer}/device/auth`,
      },
    },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    pkce: { required: () => true },
    rotateRefreshToken: () => settings.rotate,
    ttl: {
      AccessToken: settings.user_token_seconds,
      AuthorizationCode: 60,
      ClientCredentials: settings.client_token_seconds,
      DeviceCode: settings.device_code_seconds,
      Grant: 3600,
      IdToken: 600,
      Interaction: 600,
      RefreshToken: settings.refresh_token_seconds,
      Session: 3600,
    },
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      devInteractions: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true, allowedPolicy: () => true },
      dPoP: {
        enabled: true,
        nonceSecret: Buffer.alloc(32, 7),
        requireNonce: () => settings.dpop_nonce,
      },
      mTLS: {
        enabled: true,
        certificateBoundAccessTokens: true,
        selfSignedTlsClientAuth: true,
        tlsClientAuth: true,
        getCertificate: (ctx) => certificateOf(ctx)?.toString(),
        certificateAuthorized: (ctx) => ctx.socket.authorized === true,
        certificateSubjectMatches: (ctx, property, expected) =>
          property === 'tls_client_auth_san_dns' &&
          (certificateOf(ctx)?.subjectAltName ?? '').split(', ').includes(`DNS:${expected}`),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => {
          if (!resource.startsWith('https://api.example/')) {
            throw new errors.InvalidTarget();
          }
          return {
            scope: API_SCOPES.join(' '),
            audience: resource,
            accessTokenTTL: settings.client_token_seconds,
            accessTokenFormat: 'opaque',
          };
        },
      },
    },
  });
}

// ── our routes ──────────────────────────────────────────────────────────────────────────────

const calls = { token: 0, grants: {}, statuses: {}, paths: {} };
const count = (table, key) => {
  table[key] = (table[key] ?? 0) + 1;
};

async function grantTo(provider, clientId, scope, resource, accountId = USER) {
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(scope);
  if (resource) {
    grant.addResourceScope(resource, API_SCOPES.join(' '));
  }
  return grant.save();
}

async function seedRefresh(provider, ctx) {
  const { client: clientId = 'web', scope = 'openid offline_access api:read' } = ctx.query;
  const token = new provider.RefreshToken({
    accountId: USER,
    client: await provider.Client.find(clientId),
    grantId: await grantTo(provider, clientId, scope),
    gty: 'authorization_code',
    scope,
  });
  ctx.body = { refresh_token: await token.save() };
}

async function accessFor(provider, client, accountId, scope) {
  const token = new provider.AccessToken({
    accountId,
    client,
    grantId: await grantTo(provider, client.clientId, scope, undefined, accountId),
    gty: 'token_exchange',
    scope,
  });
  return token.save();
}

async function seedAccess(provider, ctx) {
  const client = await provider.Client.find('web');
  ctx.body = { access_token: await accessFor(provider, client, ctx.query.account, 'api:read') };
}

// RFC 8693, for access tokens of this provider; the library has a hook for grants, and not this one.
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const EXCHANGED = 'urn:ietf:params:oauth:token-type:access_token';

async function exchangeToken(provider, ctx) {
  const { params, client } = ctx.oidc;
  if (params.subject_token_type !== EXCHANGED) {
    throw new errors.InvalidRequest('unsupported subject_token_type');
  }
  if (params.audience && params.audience !== 'https://api.example/') {
    throw new errors.InvalidTarget('the audience is not known');
  }
  const subject = await provider.AccessToken.find(params.subject_token);
  if (!subject) {
    throw new errors.InvalidRequest('the subject_token is invalid or has expired');
  }
  ctx.body = {
    access_token: await accessFor(provider, client, subject.accountId, params.scope ?? 'api:read'),
    expires_in: settings.user_token_seconds,
    issued_token_type: EXCHANGED,
    token_type: 'Bearer',
  };
}

async function approveDevice(provider, ctx) {
  const code = await provider.DeviceCode.findByUserCode(normalize(ctx.query.user_code ?? ''));
  if (!code) {
    ctx.throw(404, 'no such user code');
  }
  if (ctx.query.deny) {
    code.error = 'access_denied';
  } else {
    const { scope, resource } = code.params;
    code.accountId = USER;
    code.authTime = Math.floor(Date.now() / 1000);
    code.grantId = await grantTo(provider, code.clientId, scope, resource);
    code.scope = scope;
    code.resource = resource;
  }
  await code.save();
  ctx.body = {};
}

async function register(provider, ctx) {
  const chunks = [];
  for await (const chunk of ctx.req) {
    chunks.push(chunk);
  }
  const metadata = JSON.parse(Buffer.concat(chunks));
  await memory('Client').upsert(metadata.client_id, metadata);
  await provider.Client.find(metadata.client_id); // throws when the metadata is invalid
  ctx.body = {};
}

// A protected resource for tokens of both kinds, with the library's checks and challenges.
async function api(provider, ctx) {
  const value = ctx.oidc.getAccessToken({ acceptDPoP: true });
  const proof = await validateDpop(provider, ctx, value);
  const token =
    (await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value));
  if (!token) {
    throw new errors.InvalidToken('the access token is unknown, revoked or expired');
  }
  ctx.oidc.entity('AccessToken', token);
  const bound = token['x5t#S256'];
  const certificate = certificateOf(ctx)?.toString();
  if (bound && (!certificate || bound !== thumbprintOf(certificate))) {
    throw new errors.InvalidToken('the certificate is not the one that the token is bound to');
  }
  await checkDpopReplay(provider, ctx, proof, token.clientId, errors.InvalidToken);
  if (token.jkt !== proof?.thumbprint) {
    throw new errors.InvalidToken('the DPoP key is not the one that the token is bound to');
  }
  const { need } = ctx.query;
  if (need && !(token.scope ?? '').split(' ').includes(need)) {
    throw new errors.InsufficientScope('the access token lacks a scope', need);
  }
  ctx.body = {
    client: token.clientId,
    user: token.accountId ?? null,
    scope: token.scope ?? '',
    audience: token.aud ?? null,
    method: ctx.method,
  };
}

async function protectedResource(provider, ctx) {
  const context = new provider.OIDCContext(ctx);
  context.urlFor = () => new URL(ctx.path, ctx.href).href; // what a proof must name as htu
  Object.defineProperty(ctx, 'oidc', { value: context });
  try {
    await challenges()(ctx, () => api(provider, ctx));
  } catch (error) {
    if (!error.expose) {
      throw error;
    }
    ctx.status = error.statusCode;
    ctx.body = { error: error.message, error_description: error.error_description };
  }
}

const routes = {
  '/_api': protectedResource,
  '/_approve_device': approveDevice,
  '/_calls': (provider, ctx) => {
    ctx.body = calls;
  },
  '/_client': register,
  '/_seed_access': seedAccess,
  '/_seed_refresh': seedRefresh,
};

function addRoutes(provider) {
  provider.use(async (ctx, next) => {
    const route = routes[ctx.path];
    if (route) {
      if (ctx.path === '/_api') {
        count(calls.paths, ctx.path);
      }
      await route(provider, ctx);
      return;
    }
    count(calls.paths, ctx.path);
    if (ctx.path !== '/token') {
      await next();
      return;
    }
    calls.token += 1;
    await sleep(settings.token_delay * 1000);
    await next();
    count(calls.grants, ctx.oidc?.params?.grant_type ?? '');
    count(calls.statuses, ctx.status);
  });
  provider.on('grant.error', (ctx, error) => {
    console.error(error.message, error.error_description, error.error_detail);
  });
  provider.on('server_error', (ctx, error) => console.error(error));
}

// ── listening ───────────────────────────────────────────────────────────────────────────────

const plain = http.createServer();
const secure = https.createServer({
  key: fs.readFileSync(settings.tls.key),
  cert: fs.readFileSync(settings.tls.certificate),
  ca: fs.readFileSync(settings.tls.ca),
  requestCert: true,
  rejectUnauthorized: false, // a self-signed certificate is judged by the library
});

const listen = (server) =>
  new Promise((done) => {
    server.listen(0, '127.0.0.1', () => done(server.address().port));
  });

const ports = { http: await listen(plain), https: await listen(secure) };
const tlsIssuer = `https://127.0.0.1:${ports.https}`;
for (const [server, issuer] of [
  [plain, `http://127.0.0.1:${ports.http}`],
  [secure, tlsIssuer],
]) {
  const provider = makeProvider(issuer, tlsIssuer);
  addRoutes(provider);
  provider.registerGrantType(EXCHANGE, (ctx) => exchangeToken(provider, ctx), [
    'audience',
    'requested_token_type',
    'scope',
    'subject_token',
    'subject_token_type',
  ]);
  server.on('request', provider.callback());
}
console.log(JSON.stringify({ ports }));
