"""Commands as people paste them: from vendors' pages, browsers and attackers.

Those of POSIX shells are run by bash with the real curl; those of Windows have the
arguments that curl would get there, written by hand. Names and secrets are made up.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Windows:
    """A command of another shell, and the arguments that its program gets."""

    text: str
    arguments: tuple[str, ...]


# ── as vendors' pages have them ─────────────────────────────────────────────────────

VENDORS = {
    "key as user": "curl https://api.stripe.com/v1/charges -u sk_live_51Hq8dJ2:",
    "key as user, limit": (
        'curl -G https://api.stripe.com/v1/customers -d limit=3 -u "sk_live_51Hq8dJ2:"'
    ),
    "bearer": (
        "curl https://api.openai.com/v1/models -H 'Authorization: Bearer sk-proj-8sKq2L'"
    ),
    "bearer and more headers": (
        "curl --request GET --url https://api.notion.com/v1/users "
        "--header 'Authorization: Bearer secret_9sQw81kL' "
        "--header 'Notion-Version: 2025-09-03'"
    ),
    "several lines": (
        "curl -L \\\n  -H 'Accept: application/vnd.github+json' \\\n"
        "  -H 'Authorization: Bearer ghp_8d7f6s5d4f3s2d1f' \\\n"
        "  -H 'X-GitHub-Api-Version: 2022-11-28' \\\n"
        "  https://api.github.com/user/repos"
    ),
    "token scheme": (
        "curl https://sentry.example/api/0/projects/ -H 'Authorization: Token 8s7d6f5a4'"
    ),
    "token token=": (
        "curl -H 'Authorization: Token token=y_NbAkKc66ryYTWUXYEu' "
        "https://api.pagerduty.com/abilities"
    ),
    "bare key in Authorization": (
        "curl https://api.linear.app/graphql -H 'Authorization: lin_api_9s8d7f6g'"
    ),
    "own scheme": (
        "curl https://a.klaviyo.com/api/accounts "
        "-H 'Authorization: Klaviyo-API-Key pk_8s7d6f5g4h' -H 'revision: 2024-10-15'"
    ),
    "ApiKey scheme": (
        "curl -H 'Authorization: ApiKey VnVhQ2ZHY0JDZGJrUW0t' https://es.example/_cat"
    ),
    "x-api-key": (
        "curl https://api.anthropic.com/v1/models -H 'x-api-key: sk-ant-9f8e7d6c5b' "
        "-H 'anthropic-version: 2023-06-01'"
    ),
    "two keys": (
        "curl -X GET 'https://api.datadoghq.com/api/v1/validate' "
        "-H 'DD-API-KEY: 9s8d7f6g5h4j' -H 'DD-APPLICATION-KEY: 1a2s3d4f5g6h'"
    ),
    "key in the query": "curl 'https://api.nasa.example/planetary?api_key=8fH2kQ9sLm'",
    "key and plain parameters": (
        "curl 'https://maps.example/geocode/json?address=Berlin&key=AIzaSyD8f7&region=de'"
    ),
    "access_token in the query": (
        "curl 'https://graph.facebook.example/v19.0/me?fields=id,name&access_token=EAAB8s'"
    ),
    "appid": "curl 'https://api.weather.example/data/2.5/weather?q=Rome&appid=8f7e6d5c'",
    "paging tokens are no secrets": (
        "curl 'https://api.example.com/v1/items?page_token=CAEQAA&maxResults=50' "
        "-H 'Authorization: Bearer ya29.a0AfH6S'"
    ),
    "cursor": (
        "curl 'https://api.example.com/v2/orders?cursor=abc&limit=100' "
        "-H 'X-Api-Token: 8d7f6a5s'"
    ),
    "offset": "curl 'https://api.example.com/rest/things?offset=0&limit=25' -u a:b8s7d6",
    "basic": "curl -u 'api:key-8d7f6s5d4f' https://api.mailgun.net/v4/domains",
    "basic with a colon": "curl -u 'svc:pa:ss:w0rd8' https://erp.example/odata/v4/items",
    "basic header": (
        "curl https://erp.example/api/x -H 'Authorization: Basic c3ZjOnBhc3M5OQ=='"
    ),
    "basic with --basic": "curl --basic --user svc:s3cr3t99 https://a.example/api/v2/me",
    "user in the URL": "curl https://svc:s3cr3t99@jira.example/rest/api/3/myself",
    "encoded user in the URL": "curl https://svc%40x.y:s3%3Acr3t@jira.example/rest/api/2",
    "oauth2-bearer": "curl --oauth2-bearer 8s7d6f5g4h3j https://api.example.com/v1/me",
    "json": (
        "curl --json '{\"a\":1}' https://api.example.com/v1/things "
        "-H 'Authorization: Bearer 8s7d6f5g'"
    ),
    "data": (
        "curl https://api.twilio.example/2010-04-01/Messages.json "
        "-d 'Body=Hi there' -d 'To=+1555' -u 'AC8f7e6d:9s8d7f6g5h'"
    ),
    "data, json": (
        "curl -X POST https://api.sendgrid.com/v3/mail/send "
        "-H 'Authorization: Bearer SG.8s7d6f' -H 'Content-Type: application/json' "
        '-d \'{"subject":"hello"}\''
    ),
    "put": "curl -X PUT https://a.example/v1/x/7 -H 'X-Token: 8s7d6f' -d '{\"b\":2}'",
    "patch": "curl -X PATCH https://a.example/v1/x/7 -H 'X-Token: 8s7d6f' -d b=2",
    "delete": "curl -X DELETE https://a.example/v1/x/7 -H 'X-Token: 8s7d6f'",
    "head": "curl -I https://a.example/v1/x -H 'X-Token: 8s7d6f'",
    "head by name": "curl --head https://a.example/v1/x -H 'X-Token: 8s7d6f'",
    "urlencode": (
        "curl -G https://a.example/search --data-urlencode 'q=a b&c' -H 'X-Token: 8s7d6'"
    ),
    "urlencode without a name": (
        "curl -G https://a.example/search --data-urlencode 'a b' -H 'X-Token: 8s7d6f'"
    ),
    "data-raw": (
        "curl https://a.example/v1/x --data-raw '@home' -H 'Authorization: Bearer 8s7d'"
    ),
    "accept": "curl -H 'Accept: text/csv' -H 'X-Token: 8s7d6f' https://a.example/v1/x",
    "empty header": "curl -H 'X-Empty;' -H 'X-Token: 8s7d6f' https://a.example/v1/x",
    "removed header": "curl -H 'Accept:' -H 'X-Token: 8s7d6f' https://a.example/v1/x",
    "user agent": "curl -A 'my app/1.0' -H 'X-Token: 8s7d6f' https://a.example/v1/x",
    "referer": "curl -e https://x.example/ -H 'X-Token: 8s7d6f' https://a.example/v1/x",
    "range": "curl -r 0-99 -H 'X-Token: 8s7d6f' https://a.example/v1/x",
    "cookie": "curl -b 'sid=8s7d6f5g' https://a.example/api/x",
    "cookie header": "curl -H 'Cookie: a=1; sid=8s7d6f5g' https://a.example/api/x",
    "insecure": "curl -k https://a.example/v1/x -H 'X-Token: 8s7d6f'",
    "cluster of options": "curl -sSLk https://a.example/v1/x -H 'X-Token: 8s7d6f'",
    "value in the option": "curl -XGET -HX-Token:8s7d6f https://a.example/v1/x",
    "user in the option": "curl -usvc:s3cr3t99 https://a.example/v1/x",
    "output": "curl -o /dev/null -w '%{http_code}' -u svc:s3cr3t99 https://a.example/v1",
    "compressed": "curl --compressed -u svc:s3cr3t99 https://a.example/v1/x",
    "time limits": (
        "curl -m 30 --connect-timeout 3 --retry 2 -u svc:s3cr3t99 https://a.example/v1/x"
    ),
    "http1.1": "curl --http1.1 -u svc:s3cr3t99 https://a.example/v1/x",
    "silent, show errors": "curl -s -S -f -u svc:s3cr3t99 https://a.example/v1/x",
    "verbose": "curl -v -u svc:s3cr3t99 https://a.example/v1/x",
    "piped": "curl -s -u svc:s3cr3t99 https://a.example/v1/x | cat",
    "redirected": "curl -s -u svc:s3cr3t99 https://a.example/v1/x > /dev/null 2>&1",
    "prompt": "$ curl -u svc:s3cr3t99 https://a.example/v1/x",
    "comment": "# list them\ncurl -u svc:s3cr3t99 https://a.example/v1/x # all",
    "assignment before": "X=1 curl -u svc:s3cr3t99 https://a.example/v1/x",
    "no scheme": "curl a.example/v1/x -u svc:s3cr3t99",
    "http": "curl http://a.example/v1/x -u svc:s3cr3t99",
    "loopback": "curl http://127.0.0.1/v1/x -u svc:s3cr3t99",
    "loopback with a port": "curl http://127.0.0.1:8080/v1/x -u svc:s3cr3t99",
    "localhost": "curl localhost:3000/api/x -H 'X-Token: 8s7d6f'",
    "private address": "curl http://10.1.2.3/api/x -H 'X-Token: 8s7d6f'",
    "private IPv6": "curl -g 'http://[fd12::1]/api/x' -H 'X-Token: 8s7d6f'",
    "port": "curl https://a.example:8443/v1/x -u svc:s3cr3t99",
    "fragment": "curl 'https://a.example/v1/x#top' -u svc:s3cr3t99",
    "dots": "curl https://a.example/v1/a/../b/./c -u svc:s3cr3t99",
    "encoded path": "curl https://a.example/v1/a%20b%2Fc -u svc:s3cr3t99",
    "path only query": "curl 'https://a.example?x=1' -u svc:s3cr3t99",
    "repeated parameters": "curl 'https://a.example/v1/x?t=1&t=2' -u svc:s3cr3t99",
    "empty parameter": "curl 'https://a.example/v1/x?flag&b=' -u svc:s3cr3t99",
    "plus and percent": "curl 'https://a.example/v1/x?q=a+b%26c' -u svc:s3cr3t99",
    "url-query": "curl --url-query 'a=b c' https://a.example/v1/x -u svc:s3cr3t99",
    "two URLs": "curl -u svc:s3cr3t99 https://a.example/v1/x https://a.example/v1/y",
    "next": (
        "curl -u svc:s3cr3t99 https://a.example/v1/x --next "
        "-u svc:s3cr3t99 https://a.example/v1/y"
    ),
    "list in the URL": "curl -u svc:s3cr3t99 'https://a.example/v1/{x}'",
    "long options cut short": "curl --head --silen https://a.example/v1/x -u a:s3cr3t99",
    "client credentials": (
        "curl -X POST https://auth.example.com/oauth/token "
        "-d grant_type=client_credentials -d client_id=app-1 -d client_secret=8s7d6f5g4"
    ),
    "client credentials, Basic": (
        "curl https://api-m.paypal.example/v1/oauth2/token -u 'app-1:8s7d6f5g4' "
        "-d 'grant_type=client_credentials'"
    ),
    "client credentials, JSON": (
        "curl https://tenant.auth0.example/oauth/token -H 'content-type: application/json'"
        ' -d \'{"client_id":"app-1","client_secret":"8s7d6f5g4",'
        '"audience":"https://api","grant_type":"client_credentials"}\''
    ),
    "client credentials, Basic header": (
        "curl https://id.example/token -H 'Authorization: Basic YXBwLTE6OHM3ZDZmNWc0' "
        "-d 'grant_type=client_credentials&scope=read%20write'"
    ),
    "refresh token": (
        "curl https://oauth2.googleapis.example/token -d client_id=app-1 "
        "-d client_secret=8s7d6f5g4 -d refresh_token=1//09s8d7f6 "
        "-d grant_type=refresh_token"
    ),
    "password grant": (
        "curl https://id.example/oauth/token -d grant_type=password -d username=svc "
        "-d password=s3cr3t99 -d client_id=app-1 -d client_secret=8s7d6f5g4"
    ),
    "authorization code": (
        "curl https://id.example/oauth/token -d grant_type=authorization_code "
        "-d code=8s7d6f -d client_id=app-1 -d client_secret=8s7d6f5g4"
    ),
    "token by query": (
        "curl -X POST 'https://id.example/token?grant_type=client_credentials"
        "&client_id=app-1&client_secret=8s7d6f5g4'"
    ),
    "login": (
        "curl -X POST https://cms.example/auth/login -H 'Content-Type: application/json' "
        '-d \'{"email":"svc@x.example","password":"s3cr3t99","mode":"json"}\''
    ),
    "login by form": (
        "curl https://cms.example/api/session -d username=svc -d password=s3cr3t99"
    ),
    "sigv4": (
        "curl --aws-sigv4 aws:amz:eu-west-1:execute-api -u 'AKID8S7D:s3cr3tk3y99' "
        "https://x8.execute-api.eu-west-1.amazonaws.com/prod/items"
    ),
    "sigv4 from the host": (
        "curl --aws-sigv4 aws:amz -u 'AKID8S7D:s3cr3tk3y99' -H 'X-Amz-Meta: a' "
        "https://sqs.eu-west-1.amazonaws.com/queue"
    ),
    "bot token in the path": (
        "curl https://api.telegram.example/bot123456789:AAF8s7d6f5g4h3j2k1l0_abcdefgh/me"
    ),
    "public": "curl https://api.public.example/v1/rates?base=EUR",
    "accept json twice": (
        "curl -H 'X-A: 1' -H 'X-A: 2' -u svc:s3cr3t99 https://a.example/v1/x"
    ),
    "host header": "curl -H 'Host: b.example' -u svc:s3cr3t99 https://a.example/v1/x",
    "long value": f"curl -H 'X-Long: {'a' * 4000}' -u svc:s3cr3t99 https://a.example/v1",
    "form": "curl -F a=b -u svc:s3cr3t99 https://a.example/v1/upload",
    "double quotes": (
        'curl "https://a.example/v1/x" -H "Authorization: Bearer 8s7d6f5g4" -H "A: b\\"c"'
    ),
    "dollar quotes": (
        "curl 'https://a.example/v1/x' -H $'X-Name: it\\'s \\u0041' -H 'X-Token: 8s7d6f'"
    ),
    "octal and hex": (
        "curl $'https://a.example/v1/\\x61\\142' -H 'X-Token: 8s7d6f5g4'"
    ),
    "quotes side by side": "curl 'https://a.example'\"/v1/x\" -u 'svc':\"s3cr3t99\"",
    "escaped space": "curl -H X-Note:\\ a\\ b -H X-Token:\\ 8s7d6f https://a.example/v1/x",
    "continued in the middle": (
        "curl \\\n-u \\\nsvc:s3cr3t99 \\\nhttps://a.example/v1/x"
    ),
    "semicolon after": "curl -u svc:s3cr3t99 https://a.example/v1/x; true",
    "and after": "curl -u svc:s3cr3t99 https://a.example/v1/x && true",
    "path of the program": "/usr/bin/env curl -u svc:s3cr3t99 https://a.example/v1/x",
    "two commands": (
        "curl -u svc:s3cr3t99 https://a.example/v1/x\n"
        "curl -u svc:s3cr3t99 https://a.example/v1/y"
    ),
    "here document": (
        'curl -u svc:s3cr3t99 https://a.example/v1/x -d @- <<EOF\n{"a": 1}\nEOF'
    ),
    "header from a file": "curl -H @/dev/null -u svc:s3cr3t99 https://a.example/v1/x",
    "data from a file": "curl -d @/dev/null -u svc:s3cr3t99 https://a.example/v1/x",
    "cookies from a file": "curl -b /dev/null -u svc:s3cr3t99 https://a.example/v1/x",
    "upload": "curl -T /dev/null -u svc:s3cr3t99 https://a.example/v1/x",
    "netrc": "curl -n https://a.example/v1/x -H 'X-Token: 8s7d6f'",
    "tls": "curl --tlsv1.2 --tls-max 1.3 -u svc:s3cr3t99 https://a.example/v1/x",
}

# ── with placeholders: nothing of them is kept ──────────────────────────────────────

PLACEHOLDERS = {
    "variable": 'curl https://a.example/v1/x -H "Authorization: Bearer $TOKEN"',
    "braces": 'curl https://a.example/v1/x -H "Authorization: Bearer ${TOKEN}"',
    "default of a variable": 'curl https://a.example/v1/x -H "X-Api-Key: ${KEY:-}"',
    "command": 'curl https://a.example/v1/x -H "Authorization: Bearer $(printf x)"',
    "backticks": 'curl https://a.example/v1/x -H "Authorization: Bearer `printf x`"',
    "your key": "curl https://a.example/v1/x -H 'Authorization: Bearer YOUR_API_KEY'",
    "your-key": "curl https://a.example/v1/x -H 'X-Api-Key: your-api-key'",
    "angle brackets": "curl https://a.example/v1/x -H 'Authorization: Bearer <token>'",
    "angle brackets with words": (
        "curl https://a.example/v1/x -H 'Authorization: Bearer <your access token>'"
    ),
    "double braces": "curl https://a.example/v1/x -H 'Authorization: Bearer {{token}}'",
    "xxx": "curl https://a.example/v1/x -H 'X-Api-Key: xxxxxxxx'",
    "stars": "curl https://a.example/v1/x -H 'X-Api-Key: ********'",
    "dots": "curl https://a.example/v1/x -H 'X-Api-Key: sk_live_...'",
    "documentation key": (
        "curl https://api.stripe.com/v1/charges -u sk_test_4eC39HqLyjWDarjtT1zdp7dc:"
    ),
    "user and password": "curl https://a.example/v1/x -u username:password",
    "user in braces": "curl https://a.example/v1/x -u '{username}:{password}'",
    "in the query": "curl 'https://a.example/v1/x?api_key=YOUR_API_KEY'",
    "variable in the query": 'curl "https://a.example/v1/x?api_key=$API_KEY"',
    "replace me": "curl https://a.example/v1/x -H 'X-Api-Key: REPLACE_ME'",
    "here": "curl https://a.example/v1/x -H 'X-Api-Key: API_KEY_HERE'",
    "aws": (
        'curl --aws-sigv4 aws:amz:us-east-1:s3 -u "$AWS_KEY:$AWS_SECRET" '
        "https://b.s3.us-east-1.amazonaws.com/x"
    ),
    "oauth": (
        "curl https://id.example/token -d grant_type=client_credentials "
        "-d client_id=YOUR_CLIENT_ID -d client_secret=YOUR_CLIENT_SECRET"
    ),
}

# ── as browsers copy them ───────────────────────────────────────────────────────────

_CHROME = """curl 'https://app.example.com/api/v2/items?page=2&per_page=20' \\
  -H 'accept: application/json, text/plain, */*' \\
  -H 'accept-language: en-GB,en;q=0.9' \\
  -H 'authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.8s7d6f' \\
  -H 'cookie: theme=dark; sid=8s7d6f5g4' \\
  -H 'priority: u=1, i' \\
  -H 'referer: https://app.example.com/items' \\
  -H 'sec-ch-ua: "Chromium";v="150"' \\
  -H 'sec-fetch-mode: cors' \\
  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36'"""

BROWSERS = {
    "Chrome, bash": _CHROME,
    "Chrome, POST": _CHROME.replace("items?page=2&per_page=20", "items")
    + " \\\n  -H 'content-type: application/json' --data-raw $'{\"a\":\"it\\'s\"}'",
    "Chrome with --compressed": _CHROME + " \\\n  --compressed",
    "Firefox": (
        "curl 'https://app.example.com/api/me' --compressed "
        "-H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101' "
        "-H 'Accept: application/json' -H 'Accept-Language: de,en;q=0.5' "
        "-H 'Accept-Encoding: gzip, deflate, br, zstd' "
        "-H 'X-CSRF-Token: 8s7d6f5g' -H 'DNT: 1' -H 'Connection: keep-alive' "
        "-H 'Cookie: sid=8s7d6f5g4' -H 'Sec-Fetch-Dest: empty' -H 'Pragma: no-cache' "
        "-H 'Cache-Control: no-cache'"
    ),
    "Firefox, POST": (
        "curl 'https://app.example.com/api/me' -X POST "
        "-H 'Content-Type: application/json' -H 'Origin: https://app.example.com' "
        "-H 'Authorization: Bearer 8s7d6f5g4' --data-raw '{\"name\":\"x\"}'"
    ),
    "Safari": (
        "curl 'https://app.example.com/api/me' \\\n-X 'GET' \\\n"
        "-H 'Accept: */*' \\\n-H 'Authorization: Bearer 8s7d6f5g4' \\\n"
        "-H 'User-Agent: Mozilla/5.0 (Macintosh) Version/18.0 Safari/605.1.15'"
    ),
    "Postman": (
        "curl --location 'https://api.example.com/v1/items?limit=10' \\\n"
        "--header 'Authorization: Basic c3ZjOnBhc3M5OQ==' \\\n"
        "--header 'X-Trace: 1'"
    ),
    "Postman, form": (
        "curl --location 'https://id.example/token' \\\n"
        "--header 'Content-Type: application/x-www-form-urlencoded' \\\n"
        "--data-urlencode 'grant_type=client_credentials' \\\n"
        "--data-urlencode 'client_id=app-1' \\\n"
        "--data-urlencode 'client_secret=8s7d6f5g4'"
    ),
    "Insomnia": (
        "curl --request GET \\\n  --url 'https://api.example.com/v1/items?page=1' \\\n"
        "  --header 'Authorization: Bearer 8s7d6f5g4' \\\n"
        "  --header 'User-Agent: insomnia/11.0'"
    ),
    "Bruno": (
        "curl --request GET \\\n  --url https://api.example.com/v1/items \\\n"
        "  --header 'x-api-key: 8s7d6f5g4'"
    ),
    "httpie's other": (
        "curl -X GET 'https://api.example.com/v1/items' -H 'accept: */*' "
        "-H 'Authorization: Bearer 8s7d6f5g4'"
    ),
    "Swagger UI": (
        "curl -X 'GET' \\\n  'https://petstore.example/v2/pet/findByStatus?status=sold' "
        "\\\n  -H 'accept: application/json' \\\n  -H 'api_key: 8s7d6f5g4'"
    ),
}

# ── of Windows: with the arguments that curl gets there ─────────────────────────────

WINDOWS = {
    "cmd, Chrome": Windows(
        'curl ^"https://app.example.com/api/items?page=2^&per_page=20^" ^\n'
        '  -H ^"accept: */*^" ^\n'
        '  -H ^"authorization: Bearer 8s7d6f5g4^" ^\n'
        '  -H ^"sec-ch-ua: ^\\^"Chromium^\\^";v=^\\^"150^\\^"^"',
        (
            "https://app.example.com/api/items?page=2&per_page=20",
            "-H",
            "accept: */*",
            "-H",
            "authorization: Bearer 8s7d6f5g4",
            "-H",
            'sec-ch-ua: "Chromium";v="150"',
        ),
    ),
    "cmd, Chrome, POST": Windows(
        'curl ^"https://app.example.com/api/items^" ^\n'
        '  -H ^"content-type: application/json^" ^\n'
        '  -H ^"x-token: 8s7d6f5g4^" ^\n'
        '  --data-raw ^"^{^\\^"a^\\^":^\\^"50^%^20b^\\^"^}^"',
        (
            "https://app.example.com/api/items",
            "-H",
            "content-type: application/json",
            "-H",
            "x-token: 8s7d6f5g4",
            "--data-raw",
            '{"a":"50%20b"}',
        ),
    ),
    "cmd, percent": Windows(
        'curl ^"https://app.example.com/api/a^%^20b^" -H ^"x-token: 8s7d6f5g4^"',
        ("https://app.example.com/api/a%20b", "-H", "x-token: 8s7d6f5g4"),
    ),
    "cmd, plain quotes": Windows(
        'curl "https://a.example/v1/x?a=1&b=2" ^\n -u "svc:s3cr3t99"',
        ("https://a.example/v1/x?a=1&b=2", "-u", "svc:s3cr3t99"),
    ),
    "cmd, escaped quotes": Windows(
        'curl -X POST https://a.example/v1/x -u svc:s3cr3t99 ^\n -d "{\\"a\\": \\"b\\"}"',
        (
            *["-X", "POST", "https://a.example/v1/x", "-u", "svc:s3cr3t99", "-d"],
            '{"a": "b"}',
        ),
    ),
    "cmd, doubled quotes": Windows(
        'curl https://a.example/v1/x -u svc:s3cr3t99 ^\n -H "X-Note: say ""hi"" now"',
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99", "-H", 'X-Note: say "hi" now'),
    ),
    "cmd, variable": Windows(
        'curl https://a.example/v1/x -H "Authorization: Bearer %TOKEN%"',
        ("https://a.example/v1/x", "-H", "Authorization: Bearer %TOKEN%"),
    ),
    "cmd, prompt": Windows(
        'C:\\Users\\me> curl ^"https://a.example/v1/x^" -u svc:s3cr3t99',
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "cmd, piped": Windows(
        'curl ^"https://a.example/v1/x^" -u svc:s3cr3t99 | findstr a',
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "cmd, backslashes": Windows(
        'curl ^"https://a.example/v1/x^" -u "dom\\svc:s3cr3t99\\\\"',
        ("https://a.example/v1/x", "-u", "dom\\svc:s3cr3t99\\"),
    ),
    "cmd, two lines": Windows(
        'curl ^"https://a.example/v1/x^" -u svc:s3cr3t99\ncd ..',
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "PowerShell": Windows(
        "curl.exe -X GET 'https://a.example/v1/x?a=1&b=2' `\n"
        "  -H 'Authorization: Bearer 8s7d6f5g4'",
        (
            *["-X", "GET", "https://a.example/v1/x?a=1&b=2", "-H"],
            "Authorization: Bearer 8s7d6f5g4",
        ),
    ),
    "PowerShell, doubled quotes": Windows(
        "curl.exe 'https://a.example/v1/x' -H 'X-Note: it''s' -H \"X-Token: 8s7d6f5g4\"",
        ("https://a.example/v1/x", "-H", "X-Note: it's", "-H", "X-Token: 8s7d6f5g4"),
    ),
    "PowerShell, variable": Windows(
        'curl.exe https://a.example/v1/x -H "Authorization: Bearer $env:TOKEN"',
        ("https://a.example/v1/x", "-H", "Authorization: Bearer $env:TOKEN"),
    ),
    "PowerShell, escapes": Windows(
        'curl.exe https://a.example/v1/x -H "X-Note: a`"b" -u "svc:s3cr3t`$99"',
        ("https://a.example/v1/x", "-H", 'X-Note: a"b', "-u", "svc:s3cr3t$99"),
    ),
    "PowerShell, JSON": Windows(
        "curl.exe https://a.example/v1/x -u svc:s3cr3t99 -d '{\\\"a\\\": 1}'",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99", "-d", '{"a": 1}'),
    ),
    "PowerShell, prompt": Windows(
        "PS C:\\> curl.exe https://a.example/v1/x -u svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
}

# ── as word processors and web pages spoil them: the shell cannot run these ─────────

SPOILED = {
    "curly quotes": Windows(
        "curl \u201chttps://a.example/v1/x\u201d -H \u2018X-Token: 8s7d6f5g4\u2019",
        ("https://a.example/v1/x", "-H", "X-Token: 8s7d6f5g4"),
    ),
    "no-break spaces": Windows(
        "curl\u00a0https://a.example/v1/x\u00a0-u\u00a0svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "joined hyphens": Windows(
        "curl \u2014request GET https://a.example/v1/x \u2013u svc:s3cr3t99",
        ("--request", "GET", "https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "Windows line ends": Windows(
        "curl https://a.example/v1/x \\\r\n  -u svc:s3cr3t99\r\n",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "space behind a backslash": Windows(
        "curl https://a.example/v1/x \\ \n  -u svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "zero width": Windows(
        "curl https://a.example/v1/x\u200b -u svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "prompts of continued lines": Windows(
        "$ curl https://a.example/v1/x \\\n> -u svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "prompt with user and host": Windows(
        "me@box:~/x$ curl https://a.example/v1/x -u svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
    "unquoted parameters": Windows(
        "curl https://a.example/v1/x?a=1&b=2 -u svc:s3cr3t99",
        ("https://a.example/v1/x?a=1&b=2", "-u", "svc:s3cr3t99"),
    ),
    "unquoted placeholder": Windows(
        "curl https://a.example/v1/x -H X-Token:<token>",
        ("https://a.example/v1/x", "-H", "X-Token:<token>"),
    ),
    "open quote": Windows(
        "curl https://a.example/v1/x -u 'svc:s3cr3t99",
        ("https://a.example/v1/x", "-u", "svc:s3cr3t99"),
    ),
}

# ── meant to do harm: never run here, and refused or harmless ───────────────────────

HOSTILE = {
    "command in the URL": "curl https://a.example/$(touch /tmp/owned) -u svc:s3cr3t99",
    "other command": "rm -rf /nowhere; curl https://a.example/v1 -u svc:s3cr3t99",
    "file scheme": "curl file:///etc/passwd",
    "gopher": "curl gopher://127.0.0.1:6379/_INFO",
    "metadata": "curl http://169.254.169.254/latest/meta-data/ -H 'X-Token: 8s7d6f5'",
    "config file": "curl -K /etc/passwd https://a.example/v1/x -H 'X-Token: 8s7d6f5'",
    "line break in a header": (
        "curl https://a.example/v1/x -H $'X-A: 1\\r\\nX-Evil: 2' -u svc:s3cr3t99"
    ),
    "NUL in a header": "curl https://a.example/v1/x -H $'X-A: \\0b' -u svc:s3cr3t99",
    "code in a region": (
        'curl --aws-sigv4 \'aws:amz:"+__import__("os").x+":s3\' -u AK8S:s3cr3t99 '
        "https://a.example/x"
    ),
    "code in a header of AWS": (
        "curl --aws-sigv4 aws:amz:us-east-1:s3 -u AK8S:s3cr3t99 https://a.example/x "
        "-H 'X-Amz-A: \"}\\nimport os'"
    ),
    "host with a space": "curl 'https://a b.example/' -u svc:s3cr3t99",
    "connection headers": (
        "curl https://a.example/v1/x -H 'Transfer-Encoding: chunked' -u svc:s3cr3t99"
    ),
    "no URL": "curl -u svc:s3cr3t99",
    "nothing": "curl",
    "empty words": "curl '' '' ''",
    "unknown options": "curl --frobnicate https://a.example/v1/x -u svc:s3cr3t99",
    "deep parentheses": "curl https://a.example/v1/" + "$(" * 5000,
    "many quotes": "curl " + "'" * 20_001,
    "many ampersands": "curl https://a.example/?" + "a&" * 20_000,
    "many backslashes": 'curl ^"https://a.example/^" ' + "\\" * 30_000,
    "many dollars": 'curl "' + "$" * 60_000,
    "many redirections": "curl https://a.example/ " + "<" * 50_000,
    "many redirections to files": "curl https://a.example/ " + ">a" * 5000,
    "many outputs of commands as files": "curl https://a.example/ " + "<(" * 5000,
    "many options": "curl https://a.example/v1 " + "-s " * 300,
    "secret as a header's name": (
        "curl https://a.example/v1/x -H 'sk_live_8s7d6f5g4h3j2k1l: x' -u svc:s3cr3t99"
    ),
}
POSIX = {
    **VENDORS,
    **{f"placeholder: {name}": text for name, text in PLACEHOLDERS.items()},
    **{f"browser: {name}": text for name, text in BROWSERS.items()},
}
OTHERS = {**WINDOWS, **{f"spoiled: {name}": case for name, case in SPOILED.items()}}
