/**
 * `python -m` looks for modules in the current folder first: a file of the repository with the name of a module that venv or
 * pip imports runs in its place. Modules of Python 3.8 to 3.14, and those that pip uses if they are installed.
 * https://docs.python.org/3/library/sys.html#sys.stdlib_module_names
 */
const IMPORTED = new Set(
  `
  abc aifc annotationlib argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex bisect
  builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
  compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime
  dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput
  fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib
  heapq hmac html http imaplib imghdr imp importlib inspect io ipaddress itertools json keyword linecache locale
  logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis
  nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools
  pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc
  pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors
  shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants
  sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog
  tabnanny tarfile telnetlib tempfile termios textwrap threading time timeit token tokenize tomllib trace traceback
  tracemalloc tty types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg
  winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
  IPython OpenSSL android attr backports brotli brotlicffi chardet charset_normalizer colorama cryptography ctags
  dummy_threading filelock google importlib_metadata ipywidgets jnius keyring lockfile pip pkg_resources redis
  setuptools simplejson socks tornado truststore wheel zipp zstandard
`
    .trim()
    .split(/\s+/),
);

/** A module, a package, or a link that may lead to a package, in the root folder. */
const MODULE = /^(\w+)(?:$|\.(?:[^/]*\.)?(?:pyc?|so)$|\/__init__\.[^/]+$)/;

/** A file of the tree that `python -m venv` or `python -m pip` may run. */
export function findShadowingModule(paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    const name = MODULE.exec(path)?.[1];
    return name !== undefined && (name.startsWith('_') || IMPORTED.has(name));
  });
}
