// Send with a configuration of outkey from Node.js (18 or newer), Deno or Bun:
//   OUTKEY_URL=http://127.0.0.1:8765 OUTKEY_TOKEN=ok_… node send_by_http.mjs acme contacts
const [configuration, path] = process.argv.slice(2);
const response = await fetch(`${process.env.OUTKEY_URL}/api/v1/send/${configuration}/${path}`, {
  headers: { Authorization: `Bearer ${process.env.OUTKEY_TOKEN}` },
});
if (response.ok) {
  console.log(await response.text());
} else {
  console.error(response.status, response.headers.get("X-Outkey-Cause"));
  process.exitCode = 1;
}
