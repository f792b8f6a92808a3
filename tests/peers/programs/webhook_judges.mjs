// Signs and verifies deliveries of webhooks with libraries that nobody here wrote. The
// arguments are the folder with the packages and the name of a judge. Each line of
// standard input asks it to sign or to verify a delivery, each line of standard output
// is its answer. A judge refuses as its library does: whatever else it throws ends this
// program.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parse } from "node:querystring";

const [folder, name] = process.argv.slice(2);
const require = createRequire(folder + "/");
// Some packages can only be imported, and an import does not look into another folder.
const load = (path) => import(pathToFileURL(`${folder}/node_modules/${path}`));

const FORM = "application/x-www-form-urlencoded";
const AGE = 300; // seconds that a signature is accepted for

const header = ({ headers }, wanted) =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === wanted.toLowerCase())?.[1] ?? "";

// The verdict of a library that throws an error of its own instead of giving one.
const verdict = (check, isRefusal) => {
  try {
    check();
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
};

// Standard Webhooks, whose libraries leave the headers to others.
const standard = (Webhook, prefix, WebhookVerificationError) => ({
  sign(delivery) {
    const { secret, event_id, now, text } = delivery;
    const signature = new Webhook(secret).sign(event_id, new Date(now * 1000), text);
    return {
      headers: {
        [`${prefix}-id`]: event_id,
        [`${prefix}-timestamp`]: String(now),
        [`${prefix}-signature`]: signature,
      },
    };
  },
  verify: ({ secret, text, headers }) =>
    verdict(
      () => new Webhook(secret).verify(text, headers, { jsonParse: false }),
      (error) => error instanceof WebhookVerificationError,
    ),
});

const judges = {
  async octokit() {
    const { Webhooks } = await load("@octokit/webhooks/dist-bundle/index.js");
    const signature = "X-Hub-Signature-256";
    return {
      async sign({ secret, event_id, text }) {
        const value = await new Webhooks({ secret }).sign(text);
        return { headers: { [signature]: value, "X-GitHub-Delivery": event_id } };
      },
      verify: (delivery) =>
        new Webhooks({ secret: delivery.secret }).verify(delivery.text, header(delivery, signature)),
    };
  },

  stripe() {
    const Stripe = require("stripe");
    const { webhooks } = new Stripe("sk_test_unused");
    const { StripeSignatureVerificationError } = Stripe.errors;
    const signature = "Stripe-Signature";
    return {
      sign({ secret, now, text }) {
        const options = { payload: text, secret, timestamp: now };
        return { headers: { [signature]: webhooks.generateTestHeaderString(options) } };
      },
      verify: (delivery) =>
        verdict(
          () => webhooks.signature.verifyHeader(delivery.text, header(delivery, signature), delivery.secret, AGE),
          (error) => error instanceof StripeSignatureVerificationError,
        ),
    };
  },

  standardwebhooks() {
    const { Webhook, WebhookVerificationError } = require("standardwebhooks");
    return standard(Webhook, "webhook", WebhookVerificationError);
  },

  svix() {
    const { Webhook, WebhookVerificationError } = require("svix");
    return standard(Webhook, "svix", WebhookVerificationError);
  },

  twilio() {
    const twilio = require("twilio/lib/webhooks/webhooks");
    const signature = "X-Twilio-Signature";
    const fields = ({ text }) => ({ ...parse(text) });
    const isForm = (delivery) => header(delivery, "Content-Type") === FORM;
    return {
      sign(delivery) {
        const { secret, text } = delivery;
        let { url } = delivery;
        if (!isForm(delivery))
          url += `${url.includes("?") ? "&" : "?"}bodySHA256=${twilio.getExpectedBodyHash(text)}`;
        const signed = isForm(delivery) ? fields(delivery) : {};
        return { url, headers: { [signature]: twilio.getExpectedTwilioSignature(secret, url, signed) } };
      },
      verify(delivery) {
        const { secret, url, text } = delivery;
        const value = header(delivery, signature);
        return isForm(delivery)
          ? twilio.validateRequest(secret, value, url, fields(delivery))
          : twilio.validateRequestWithBody(secret, value, url, text);
      },
    };
  },

  shopify() {
    require("@shopify/shopify-api/adapters/node");
    const { shopifyApi, ApiVersion, LogSeverity } = require("@shopify/shopify-api");
    const { createSHA256HMAC } = require("@shopify/shopify-api/runtime");
    const apiVersion = Object.values(ApiVersion).at(-1);
    const api = (secret) =>
      shopifyApi({
        apiKey: "unused",
        apiSecretKey: secret,
        apiVersion,
        hostName: "hooks.acme.example",
        isEmbeddedApp: false,
        logger: { level: LogSeverity.Error },
      });
    return {
      async sign({ secret, event_id, text }) {
        return {
          headers: {
            "X-Shopify-Hmac-SHA256": await createSHA256HMAC(secret, text, "base64"),
            "X-Shopify-Webhook-Id": event_id,
          },
        };
      },
      async verify({ secret, text, headers }) {
        // The library wants these too, which are not signed.
        const unsigned = {
          "X-Shopify-Topic": "orders/create",
          "X-Shopify-Shop-Domain": "acme.myshopify.com",
          "X-Shopify-API-Version": apiVersion,
        };
        const rawRequest = { method: "POST", url: "/", headers: { ...headers, ...unsigned } };
        const { valid } = await api(secret).webhooks.validate({ rawBody: text, rawRequest });
        return valid;
      },
    };
  },
};

const judge = await judges[name]();
for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...delivery } = JSON.parse(line);
  delivery.text = Buffer.from(delivery.body, "base64").toString();
  let answer = await judge[task](delivery);
  if (task === "sign") {
    const { url, body, headers } = delivery;
    answer = { url, body, ...answer, headers: { ...headers, ...answer.headers } };
  } else if (typeof answer !== "boolean") {
    throw new TypeError(String(answer));
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
