"""Hostile scripts. Each returns what it got hold of as text; none may get an asset.

`{file}`, `{variable}`, `{parent}`, `{zygote}`, `{other}` and `{port}` are filled in:
attackers are assumed to know the names and numbers of everything, only not what is in
it.
"""

# The way to `os` that no list of imports can close; the kernel is the boundary.
REACH = """
import uuid, json, base64, random, types, functools, datetime, time
os = uuid.os
sys = uuid.sys
def show(found):
    return {"Found": base64.b64encode(repr(found).encode("utf-8", "replace")[:40000]).decode()}
def tried(*attempts):
    got = []
    for attempt in attempts:
        try:
            got.append(attempt())
        except BaseException as error:
            got.append(type(error).__name__)
    return show(got)
def forge(answer):
    frame = sys._getframe()
    while "tag" not in frame.f_locals:
        frame = frame.f_back
    os.write(3, frame.f_locals["tag"] + answer)
def subclasses(kind, seen=None):
    seen = set() if seen is None else seen
    for sub in type.__subclasses__(kind):
        if sub not in seen:
            seen.add(sub)
            subclasses(sub, seen)
    return seen
def find(name):
    return next(kind for kind in subclasses(object) | subclasses(type) if kind.__name__ == name)
"""

OBJECTS = {
    "class graph to os": (
        """
for kind in ().__class__.__base__.__subclasses__():
    try:
        space = kind.__init__.__globals__
    except AttributeError:
        continue
    if "sys" in space:
        found = space["sys"].modules["os"]
        return show((dict(found.environ), found.popen("cat {file}").read()))
"""
    ),
    "builtins of a function": (
        """
space = tried.__globals__["__builtins__"]
return tried(lambda: space["open"]("{file}").read(), lambda: space["__import__"]("os").environ)
"""
    ),
    "real import by a module's builtins": (
        """
real = json.decoder.__builtins__["__import__"]
return tried(lambda: dict(real("os").environ), lambda: real("subprocess").check_output(["env"]))
"""
    ),
    "format string": (
        """
class A: pass
return tried(lambda: "{{0.__init__.__globals__}}".format(sync_line),
             lambda: "{{0.api_config_id.__class__.__init__.__globals__}}".format(sync_line))
"""
    ),
    "string formatter": (
        """
import string
return tried(lambda: string.Formatter().vformat("{{0.get_secret_key.__globals__[sys].modules}}",
                                               (sync_line.api_config_id,), {{}}))
"""
    ),
    "frames upwards": (
        """
frame, got = sys._getframe(), []
while frame:
    got.append((frame.f_code.co_name, repr(frame.f_locals)[:2000], sorted(frame.f_globals)))
    frame = frame.f_back
return show(got)
"""
    ),
    "traceback frames": (
        """
try:
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
    got = []
    while frame:
        got.append({{k: repr(v)[:300] for k, v in frame.f_locals.items()}})
        frame = frame.f_back
    return show(got)
"""
    ),
    "generator frame": (
        """
def make():
    yield 1
one = make()
next(one)
return show((repr(one.gi_frame.f_globals)[:9000], one.gi_frame.f_builtins["open"]))
"""
    ),
    "exception object's context": (
        """
try:
    try:
        open("{file}")
    except OSError:
        raise ValueError
except ValueError as error:
    return show((error.__context__, error.__context__.__traceback__.tb_frame.f_globals))
"""
    ),
    "garbage collector walk": (
        """
gc = next(m for m in sys.modules.values() if getattr(m, "__name__", "") == "gc")
got = [repr(o)[:500] for o in gc.get_objects() if type(o) in (dict, list, tuple, str, bytes)]
return show([t for t in got if "MARK" in t])
"""
    ),
    "garbage collector, thawed": (
        """
gc = sys.modules["gc"]
gc.unfreeze()
found = []
for o in gc.get_objects():
    if type(o) in (dict, tuple, list):
        found += [x for x in (o.values() if type(o) is dict else o) if type(x) in (str, bytes)]
return show([x for x in found if "MARK" in str(x)])
"""
    ),
    "all module globals": (
        """
got = []
for name, module in list(sys.modules.items()):
    for key, value in list(vars(module).items()):
        if type(value) in (str, bytes, dict, list, tuple):
            text = repr(value)
            if "MARK" in text:
                got.append((name, key, text[:500]))
return show(got)
"""
    ),
    "code object forged": (
        """
def f(): pass
code = f.__code__.replace(co_consts=(None, "x"), co_code=f.__code__.co_code)
return tried(lambda: types.FunctionType(code, {{}})(),
             lambda: types.FunctionType(code.replace(co_consts=()), {{}})())
"""
    ),
    "bytecode out of bounds": (
        """
def f(): return None
code = f.__code__.replace(co_code=bytes([100, 255]) * 200 + f.__code__.co_code, co_stacksize=900)
return show(types.FunctionType(code, {{}})())
"""
    ),
    "descriptor of another class": (
        """
return tried(lambda: type(sync_line.api_config_id).__dict__,
             lambda: object.__getattribute__(sync_line.api_config_id, "__dict__"))
"""
    ),
    "builtins by another module": (
        """
real = sys.modules["builtins"]
return tried(lambda: real.open("{file}").read(), lambda: real.__import__("socket").socket(),
             lambda: real.exec("import subprocess; subprocess.run(['env'])"))
"""
    ),
    "eval and compile": (
        """
return tried(lambda: eval("__import__('os').environ"),
             lambda: eval(compile("open('{file}').read()", "x", "eval"), json.__dict__))
"""
    ),
}
MODULES = {
    "environment by os": "return show((dict(os.environ), os.getenv('{variable}')))",
    "environment by posix": "return show(sys.modules['posix'].environ)",
    "environment by libc getenv": (
        "return tried(lambda: os.environb, lambda: os.get_exec_path())"
    ),
    "modules of the application": (
        """
return show([n for n in sys.modules if "outkey" in n or "django" in n or "pytest" in n])
"""
    ),
    "argv and flags": (
        "return show((sys.argv, sys.flags, sys.path, sys.executable, sys.orig_argv))"
    ),
    "lazy import by importlib": (
        """
lib = sys.modules["importlib._bootstrap"]
return tried(lambda: lib._gcd_import("subprocess"), lambda: lib._gcd_import("outkey"),
             lambda: sys.modules["_frozen_importlib_external"].SourceFileLoader("x", "{file}")
             .get_data("{file}"))
"""
    ),
    "zipimport and loaders": (
        """
return tried(lambda: json.__loader__.get_data("{file}"),
             lambda: json.__spec__.loader.get_data("{file}"))
"""
    ),
    "patching hmac for others": (
        """
import hmac, hashlib
def evil(*args, **more): raise RuntimeError(args)
hmac.new = hashlib.sha256 = evil
os.write = os.read = evil
return show("patched")
"""
    ),
    "patching json and time": (
        """
json.dumps = json.loads = lambda *a, **k: {{}}
time.time = lambda: 0
str_type = type("")
return show("patched")
"""
    ),
    "zoneinfo opens a file": (
        """
import zoneinfo
return tried(lambda: zoneinfo.ZoneInfo.from_file(open("{file}", "rb")),
             lambda: zoneinfo.reset_tzpath(["{folder}"]), lambda: zoneinfo.ZoneInfo("asset"))
"""
    ),
    "linecache": (
        """
loaded = [m for m in sys.modules if m == "linecache"]
return tried(lambda: sys.modules["linecache"].getlines("{file}"), lambda: loaded)
"""
    ),
    "io of a module": (
        """
io = sys.modules["io"]
return tried(lambda: io.open("{file}").read(), lambda: io.FileIO("{file}").read(),
             lambda: io.open(3, "rb", closefd=False).read(1), lambda: io.open_code("{file}"))
"""
    ),
    "codecs of a module": (
        "return tried(lambda: sys.modules['codecs'].open('{file}').read())"
    ),
    "pathlib of a module": (
        """
return tried(lambda: sys.modules["pathlib"].Path("{file}").read_text(),
             lambda: list(sys.modules["pathlib"].Path("/").iterdir()))
"""
    ),
    "cryptography opens a file": (
        """
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography import x509
ffi = [m for n, m in sys.modules.items() if "openssl" in n.lower()]
return show([sorted(vars(m)) for m in ffi])
"""
    ),
}
FORGERY = {
    "dict subclass with lying items": (
        """
class Lying(dict):
    def items(self): return [("A", "x"), ("A", "y"), ("Host", "evil\\r\\nX: y")]
return Lying()
"""
    ),
    "str subclass": (
        """
class Text(str):
    def encode(self, *a, **k): return b"x\\ny\\nz"
    def __len__(self): return -5
    def count(self, *a): return 0
return {{Text("A"): Text("v")}}
"""
    ),
    "carriage return in a value": "return {{'A': 'x\\r\\nHost: evil.example'}}",
    "forged second frame": (
        """
forge(b"KForged\\nyes")
return {{"Real": "yes"}}
"""
    ),
    "forged frame of the next call": (
        """
for n in range(50):
    os.write(3, bytes(8) + b"KForged\\nyes")
return {{"Real": "yes"}}
"""
    ),
    "forged error report": (
        """
forge(b"E" + sync_line.api_config_id.get_secret_key().encode() + b" 1")
return {{}}
"""
    ),
    "forged lock failure": (
        """
forge(b"FLandlock")
return {{}}
"""
    ),
    "forged odd pairs": "forge(b'Ka\\nb\\nc'); return {{}}",
    "forged bytes": "forge(b'K\\xff\\xfe\\x00'); return {{}}",
    "empty frame": "os.write(3, b''); return {{}}",
    "huge frame": "forge(b'K' + b'x' * 150000); return {{}}",
    "reading the channel": (
        """
forge(b"K")
got = os.read(3, 65536)
return show(got)
"""
    ),
    "exception with the secret as its class": (
        """
raise type(sync_line.api_config_id.get_secret_key(), (ValueError,), {{}})
"""
    ),
    "metaclass with its own mro": (
        """
class Meta(type):
    def mro(cls): return [cls, *super().mro()]
    __name__ = property(lambda self: "MARK")
class E(Exception, metaclass=Meta): pass
raise E
"""
    ),
    "destructor after the answer": (
        """
class Late:
    def __del__(self):
        while True: pass
sync_line.late = Late()
return {{"A": "b"}}
"""
    ),
}
SYSTEM = {
    "open a file": (
        "return tried(lambda: open('{file}').read(), lambda: os.open('{file}', 0))"
    ),
    "files by every call": (
        """
return tried(lambda: os.listdir("/"), lambda: os.scandir("/"), lambda: os.stat("{file}"),
    lambda: os.readlink("/proc/self/exe"), lambda: os.getcwd(), lambda: os.access("{file}", 4),
    lambda: os.open("{folder}", os.O_TMPFILE | os.O_RDWR), lambda: os.mkfifo("{folder}/x"),
    lambda: os.link("{file}", "{folder}/y"), lambda: os.statvfs("/"), lambda: os.chdir("/"))
"""
    ),
    "write a file": (
        """
return tried(lambda: open("{folder}/new", "w"), lambda: os.mkdir("{folder}/d"),
    lambda: os.unlink("{file}"), lambda: os.truncate("{file}", 0), lambda: os.chmod("{file}", 0),
    lambda: os.rename("{file}", "{file}2"), lambda: os.symlink("/", "{folder}/l"))
"""
    ),
    "own proc": (
        """
return tried(*[lambda n=n: open("/proc/self/" + n).read()
               for n in ("environ", "cmdline", "maps", "status", "mem", "root{file}")])
"""
    ),
    "parent's proc": (
        """
return tried(*[lambda n=n, p=p: open("/proc/%s/%s" % (p, n), "rb").read()
               for n in ("environ", "cmdline", "maps", "mem") for p in ({parent}, {zygote})])
"""
    ),
    "other worker's proc": (
        """
return tried(*[lambda n=n: open("/proc/{other}/" + n, "rb").read()
               for n in ("mem", "maps", "fd/3")])
"""
    ),
    "socket": (
        """
socket = [k for k in subclasses(object) if k.__name__ == "socket"]
return tried(*[lambda k=k: k().connect(("127.0.0.1", {port})) for k in socket])
"""
    ),
    "socket module hidden": (
        """
return tried(lambda: sys.modules["socket"], lambda: sys.modules["_socket"],
             lambda: json.decoder.__builtins__["__import__"]("_socket").socket())
"""
    ),
    "socket from a descriptor": (
        """
kind = find("socket")
return tried(lambda: kind(fileno=3).getsockname(), lambda: kind(fileno=3).sendmsg([b"x"]),
             lambda: kind(1, 5, 0, 3).recv(10))
"""
    ),
    "fork": "return tried(os.fork, os.forkpty, lambda: sys.modules['posix'].fork())",
    "fork bomb": (
        "while True:\n    try: os.fork()\n    except OSError: break\nreturn"
        " show('none')"
    ),
    "threads": (
        """
thread = sys.modules["_thread"]
return tried(lambda: thread.start_new_thread(lambda: 1, ()))
"""
    ),
    "shell": (
        "return tried(lambda: os.system('cat {file}'), lambda: os.popen('env').read())"
    ),
    "exec": (
        """
return tried(lambda: os.execv("/bin/cat", ["cat", "{file}"]),
             lambda: os.posix_spawn("/bin/env", ["env"], {{}}))
"""
    ),
    "signal the parent": (
        """
return tried(*[lambda p=p, s=s: os.kill(p, s)
               for p in ({parent}, {zygote}, {other}, -1, 0) for s in (9, 0)])
"""
    ),
    "signal by pidfd": (
        "return tried(lambda: os.pidfd_open({parent}), lambda: os.killpg(0, 9))"
    ),
    "signal handlers": (
        """
s = sys.modules.get("_signal")
return tried(lambda: s.signal(15, lambda *a: None), lambda: s.setitimer(0, 1), lambda: s.alarm(1))
"""
    ),
    "stray descriptors": (
        """
return tried(*[lambda n=n: os.read(n, 100) for n in (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 20)],
             *[lambda n=n: os.write(n, b"x") for n in (0, 1, 2, 4, 5)])
"""
    ),
    "copy the descriptor": (
        """
return tried(lambda: os.dup(3), lambda: os.dup2(3, 9), lambda: os.pipe(),
             lambda: os.memfd_create("x"), lambda: os.close(3), lambda: os.eventfd(1),
             lambda: os.fdopen(3))
"""
    ),
    "raise the limits": (
        """
real = json.decoder.__builtins__["__import__"]
return tried(lambda: real("resource").setrlimit(9, (-1, -1)), lambda: os.nice(-5),
             lambda: os.sched_setaffinity(0, [0]))
"""
    ),
    "become another user": (
        """
return tried(lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setresuid(0, 0, 0),
             lambda: os.chroot("/"), lambda: os.setsid(), lambda: os.getuid())
"""
    ),
    "root's calls": "return tried(lambda: os.chroot('/'), lambda: os.sync())",
    "unshare": "return tried(lambda: os.unshare(0x10000000), lambda: os.setns(3))",
    "shared memory": (
        """
m = json.decoder.__builtins__["__import__"]
return tried(lambda: m("_posixshmem").shm_open("/x", 66), lambda: m("mmap").mmap(3, 4096))
"""
    ),
    "executable memory": (
        """
kind = find("mmap")
return tried(lambda: kind(-1, 4096, prot=7), lambda: kind(-1, 4096, prot=5), lambda: kind(3, 4096))
"""
    ),
    "ctypes by name": (
        """
return tried(lambda: sys.modules["ctypes"], lambda: sys.modules["_ctypes"],
             lambda: json.decoder.__builtins__["__import__"]("ctypes").CDLL(None).getppid())
"""
    ),
    "ctypes by the class graph": (
        """
return show(find("CDLL")(None).getppid())
"""
    ),
    "ctypes reads memory": (
        """
kind = find("c_char")
return show(type(kind).from_address(kind, id(sync_line)).value)
"""
    ),
    "ctypes calls libc": (
        """
base = find("CFuncPtr")
class Call(base):
    _flags_ = 1
    _restype_ = find("c_int")
return show(Call(("getppid", None))())
"""
    ),
    "ctypes by the lock module": (
        """
frame = sys._getframe()
while "lockdown" not in frame.f_globals:
    frame = frame.f_back
return show(frame.f_globals["lockdown"]._libc.getppid())
"""
    ),
    "cffi": (
        """
kind = find("FFI")
return show(kind().dlopen(None))
"""
    ),
    "raw memory by a forged array": (
        """
gc = sys.modules["gc"]
got = [o for o in gc.get_objects() if type(o).__name__ in ("CDLL", "_FuncPtr", "mmap")]
return show(got)
"""
    ),
    "system log": (
        """
real = json.decoder.__builtins__["__import__"]
return tried(lambda: real("syslog").syslog("x"), lambda: real("logging").handlers.SysLogHandler())
"""
    ),
    "core file": "os.abort()",
    "names of the machine": (
        """
return tried(os.uname, os.getlogin, os.getppid, lambda: sys.modules["pwd"].getpwuid(0))
"""
    ),
    "uuid1 asks the machine": (
        "return tried(lambda: uuid.uuid1(), lambda: uuid.getnode())"
    ),
}
ATTACKS = {
    f"{group}: {name}": source
    for group, attacks in (
        ("objects", OBJECTS),
        ("modules", MODULES),
        ("forgery", FORGERY),
        ("system", SYSTEM),
    )
    for name, source in attacks.items()
}


def script_of(name: str, function: str, **facts: object) -> str:
    """Return the script of an attack, with what the attacker is assumed to know."""
    body = ATTACKS[name].strip("\n").format(**facts)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{REACH}\ndef {function}(sync_line):\n{lines}"
