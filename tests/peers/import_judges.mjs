// What the makers of other API clients read in their own formats: one JSON object on
// standard input names the judge and its texts, one on standard output is its verdict.
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");

const judges = {
  // Postman's own library: URL and inherited authentication of each request.
  postman({ collection, variables }) {
    const sdk = require("postman-collection");
    const read = new sdk.Collection(JSON.parse(collection));
    const scope = new sdk.VariableScope({ values: variables });
    const requests = [];
    read.forEachItem((item) => {
      const auth = item.getAuth();
      const url = new sdk.Url(scope.replaceIn(item.request.url.toString()));
      const kind = auth ? auth.type : "noauth";
      const settings = auth && auth.parameters() ? auth.parameters().toObject() : {};
      requests.push({ name: item.name, url: url.toString(), kind, settings });
    });
    return requests;
  },
  // Postman's converter: an OpenAPI document as a collection.
  async openapi({ text }) {
    const converter = require("openapi-to-postmanv2");
    const input = { type: "string", data: text };
    return await new Promise((done) =>
      converter.convertV2(input, { requestNameSource: "URL" }, (error, result) =>
        done(error || !result.result ? { failed: String(error || result.reason) } : result.output[0].data)));
  },
  bru({ text }) { return require("@usebruno/lang").bruToJsonV2(text); },
  collectionBru({ text }) { return require("@usebruno/lang").collectionBruToJson(text); },
  async postmanToBruno({ collection }) {
    const { collection: made } = await require("@usebruno/converters").postmanToBruno(JSON.parse(collection));
    return made;
  },
  async insomniaToBruno({ text }) { return await require("@usebruno/converters").insomniaToBruno(JSON.parse(text)); },
};

let text = "";
for await (const part of process.stdin) text += part;
const { judge, ...given } = JSON.parse(text);
console.log = () => {};
process.stdout.write(JSON.stringify((await judges[judge](given)) ?? null));
