#!/usr/bin/env python3
"""interop_test.py TLS_PEER: volt's TLS with the other implementations that are here: openssl's s_client and s_server,
GnuTLS's gnutls-cli and gnutls-serv, curl, Python's ssl. As client and as server, by TLS 1.2 and 1.3; and TLS 1.0
and 1.1, with null ciphers, are refused. What is not here is named, and left out."""
import contextlib
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
import ports

PEER = sys.argv[1]
SECONDS = 120
done = []


def run(*command, code=0, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                            **options)
    if code is not None and result.returncode != code:
        sys.exit(f'{" ".join(map(str, command))}: ended with {result.returncode}:\n{result.stdout}')
    return result.stdout


def expect(what, text, wanted):
    if wanted not in text:
        sys.exit(f'{what}: "{wanted}" is not in:\n{text}')
    done.append(what)


def make_certificates(directory):
    """root, and localhost signed by it"""
    run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=root',
        '-days', '2', '-keyout', 'root.key', '-out', 'root.pem', cwd=directory)
    run('openssl', 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost',
        '-keyout', 'host.key', '-out', 'host.csr', cwd=directory)
    (directory / 'names').write_text('subjectAltName=DNS:localhost\n')
    run('openssl', 'x509', '-req', '-in', 'host.csr', '-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial',
        '-days', '2', '-extfile', 'names', '-out', 'host.pem', cwd=directory)


@contextlib.contextmanager
def serving(directory, *trust):
    process = subprocess.Popen([PEER, 'serve', directory / 'host.pem', directory / 'host.key', *trust],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        says = process.stderr.read()
        if process.wait(SECONDS) != 0:
            sys.exit(f'the server ended with {process.returncode}:\n{says}')


# ---- volt is the server ----

def python_client(port, root, version, session=None):
    context = ssl.create_default_context(cafile=root)
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(['http/1.1'])
    data = bytes(range(256)) * 1000
    with socket.create_connection(('127.0.0.1', int(port)), timeout=SECONDS) as plain, \
            context.wrap_socket(plain, server_hostname='localhost') as tls:
        assert tls.selected_alpn_protocol() == 'http/1.1'
        sender = threading.Thread(target=tls.sendall, args=(data,))
        sender.start()
        back = b''
        while len(back) < len(data):
            back += tls.recv(65536)
        sender.join()
        assert back == data
        kept = tls.session
        tls.unwrap()
        done.append(f'Python, {version.name}')
    with socket.create_connection(('127.0.0.1', int(port)), timeout=SECONDS) as plain, \
            context.wrap_socket(plain, server_hostname='localhost', session=kept) as tls:
        assert tls.session_reused
        done.append(f'Python takes a session up, {version.name}')


def old_versions(port):
    for version in ('-tls1', '-tls1_1'):
        text = run('openssl', 's_client', '-connect', f'127.0.0.1:{port}', version, '-cipher', 'ALL:@SECLEVEL=0',
                   code=None, input='')
        expect(f's_client {version}', text, 'alert protocol version')
    text = run('openssl', 's_client', '-connect', f'127.0.0.1:{port}', '-tls1_2', '-cipher', 'eNULL:@SECLEVEL=0', code=None,
               input='')
    expect('s_client, null ciphers', text, 'handshake failure')


def clients(directory, port):
    root = directory / 'root.pem'
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        python_client(port, root, version)
    for version in ('-tls1_2', '-tls1_3'):
        text = run('openssl', 's_client', '-connect', f'127.0.0.1:{port}', '-CAfile', root, '-verify_hostname', 'localhost',
                   '-verify_return_error', '-ign_eof', version, '-quiet', input='GET / HTTP/1.0\r\n\r\n')
        expect(f's_client {version}', text, 'page')
    old_versions(port)
    if shutil.which('curl'):
        for version in ('1.2', '1.3'):
            text = run('curl', '-sS', '--cacert', root, '--tls-max', version, f'--tlsv{version}', '--resolve',
                       f'localhost:{port}:127.0.0.1', f'https://localhost:{port}/')
            expect(f'curl {version}', text, 'page')
    if shutil.which('gnutls-cli'):
        for priority in ('NORMAL:-VERS-ALL:+VERS-TLS1.2', 'NORMAL:-VERS-ALL:+VERS-TLS1.3'):
            text = run('gnutls-cli', '--x509cafile', root, '--priority', priority, '-p', port, '--verify-hostname', 'localhost',
                       '--sni-hostname', 'localhost', '127.0.0.1', input='GET / HTTP/1.0\r\n\r\n')
            expect(f'gnutls-cli {priority[-6:]}', text, 'page')


def client_certificates(directory):
    root = directory / 'root.pem'
    with serving(directory, root) as port:
        text = run('openssl', 's_client', '-connect', f'127.0.0.1:{port}', '-CAfile', root, '-cert', directory / 'host.pem',
                   '-key', directory / 'host.key', '-ign_eof', '-quiet', input='GET / HTTP/1.0\r\n\r\n')
        expect('s_client with a certificate', text, 'page')
        text = run('openssl', 's_client', '-connect', f'127.0.0.1:{port}', '-CAfile', root, '-ign_eof', '-quiet', code=None,
                   input='GET / HTTP/1.0\r\n\r\n')
        expect('s_client without one', text, 'certificate required')


# ---- volt is the client ----

def fetch(directory, port, version, host='localhost'):
    return run(PEER, 'fetch', host, str(port), directory / 'root.pem', version)


@contextlib.contextmanager
def foreign(port, *command, directory):
    process = subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        while True:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(('127.0.0.1', port)):
                break
            if process.poll() is not None:
                sys.exit(f'{command[0]} has ended with {process.returncode}')
        yield
    finally:
        process.kill()
        process.wait()


def servers(directory):
    port = ports.keep_port()
    with foreign(port, 'openssl', 's_server', '-accept', str(port), '-cert', 'host.pem', '-key', 'host.key', '-www',
                 directory=directory):
        for version in ('1.2', '1.3'):
            expect(f's_server {version}', fetch(directory, port, version), f'TLSv{version} HTTP/1.0 200')
        expect('s_server, another name', fetch(directory, port, '1.3', 'example.org'), 'VOLT_TLS_ENAME')
    if shutil.which('gnutls-serv'):
        port = ports.keep_port()
        with foreign(port, 'gnutls-serv', '--http', '-p', str(port), '--x509certfile', 'host.pem', '--x509keyfile', 'host.key',
                     directory=directory):
            for version in ('1.2', '1.3'):
                expect(f'gnutls-serv {version}', fetch(directory, port, version), f'TLSv{version} HTTP/1.0 200')
    python_server(directory)


def python_server(directory):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / 'host.pem', directory / 'host.key')
    with socket.create_server(('127.0.0.1', 0)) as listener:
        def serve():
            for ends_well in (True, False):
                plain, _ = listener.accept()
                tls = context.wrap_socket(plain, server_side=True)
                tls.recv(1000)
                tls.sendall(b'HTTP/1.0 200 OK\r\n\r\n' if ends_well else b'')
                if ends_well:
                    tls.unwrap().close()
                else:  # no close_notify
                    tls.close()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        expect('a server in Python', fetch(directory, port, '1.3'), 'TLSv1.3 HTTP/1.0 200')
        expect('a server in Python that does not say the end', fetch(directory, port, '1.2'), 'VOLT_TLS_ETRUNCATED')
        thread.join(SECONDS)


def main():
    if not shutil.which('openssl'):
        print('skipped: there is no openssl')
        sys.exit(77)
    for tool in ('curl', 'gnutls-cli', 'gnutls-serv'):
        if not shutil.which(tool):
            print(f'left out: {tool} is not here')
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        make_certificates(directory)
        with serving(directory) as port:
            clients(directory, port)
        client_certificates(directory)
        servers(directory)
    print('\n'.join(done))


main()
