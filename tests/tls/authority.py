"""authority.py: a certificate authority of a test's own, by the command openssl: certificates that are right, and that
are wrong in one thing each."""
import datetime
import pathlib
import subprocess

CONFIG = """
[ca]
default_ca = authority
[authority]
dir = {directory}
database = $dir/{issuer}.index
serial = $dir/{issuer}.serial
crlnumber = $dir/{issuer}.number
new_certs_dir = $dir
default_md = sha256
policy = any
unique_subject = no
default_crl_days = 30
[any]
commonName = supplied
[wanted]
{extensions}
"""
CA = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")
ELLIPTIC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def run(*command, cwd):
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise SystemExit(f'{" ".join(command)}: ended with {result.returncode}:\n{result.stdout}')


def days_from_now(days):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


class Authority:
    """What it makes of NAME is NAME.pem and NAME.key in its directory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    def path(self, name):
        return str(self.directory / name)

    def text(self, *names):
        return "".join((self.directory / f"{name}.pem").read_text() for name in names)

    def bundle(self, to, *names):
        """Several certificates, in this order, in one file."""
        (self.directory / f"{to}.pem").write_text(self.text(*names))

    def config(self, issuer, *extensions):
        for end, content in (("index", ""), ("index.attr", ""), ("serial", "1000\n"), ("number", "1000\n")):
            file = self.directory / f"{issuer}.{end}"
            if not file.exists():
                file.write_text(content)
        path = self.directory / "config"
        path.write_text(CONFIG.format(directory=self.directory, issuer=issuer, extensions="\n".join(extensions)))
        return str(path)

    def root(self, name, key=ELLIPTIC, common=None, extensions=CA, days="30"):
        """One that signs itself."""
        added = [word for extension in extensions for word in ("-addext", extension)]
        run("openssl", "req", "-x509", *key, "-nodes", "-subj", f"/CN={common or name}", "-days", days, *added,
            "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=self.directory)

    def issue(self, name, issuer, *extensions, key=ELLIPTIC, digest="sha256", begins=-1, ends=30):
        """One that issuer signs, from a day to another one, counted from today."""
        run("openssl", "req", "-new", *key, "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", cwd=self.directory)
        run("openssl", "ca", "-batch", "-notext", "-config", self.config(issuer, *extensions), "-extensions", "wanted",
            "-md", digest, "-startdate", days_from_now(begins), "-enddate", days_from_now(ends), "-cert", f"{issuer}.pem",
            "-keyfile", f"{issuer}.key", "-in", f"{name}.csr", "-out", f"{name}.pem", cwd=self.directory)

    def revoke(self, name, issuer):
        run("openssl", "ca", "-batch", "-config", self.config(issuer), "-cert", f"{issuer}.pem", "-keyfile", f"{issuer}.key",
            "-revoke", f"{name}.pem", cwd=self.directory)

    def crl(self, name, issuer, *dates):
        """A list of what issuer has revoked so far."""
        run("openssl", "ca", "-batch", "-config", self.config(issuer), "-cert", f"{issuer}.pem", "-keyfile", f"{issuer}.key",
            "-gencrl", *dates, "-out", f"{name}.pem", cwd=self.directory)
