"""`mplus serve --tls-certificate --tls-key`: the same server behind encryption, to Python's own client."""
import contextlib
import http.client
import socket
import ssl
import subprocess

from server import PROGRAM, Reply, ServerTest, main, plain_environment, read_all, wait_for


def make_certificate(folder):
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key


class Encrypted(ServerTest):
    @classmethod
    def make_model(cls):
        cls.certificate, cls.key = make_certificate(cls.folder)
        cls.options = ("--tls-certificate", cls.certificate, "--tls-key", cls.key)
        cls.trust = ssl.create_default_context(cafile=cls.certificate)
        return super().make_model()

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60, context=self.trust)

    def ask(self, connection, method, path, body=None):
        connection.request(method, path, body)
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())

    def test_requests_share_a_connection(self):
        self.assertTrue(self.server.url.startswith("https://"))
        with contextlib.closing(self.connect()) as connection:
            self.assertEqual(self.ask(connection, "GET", "/health").status, 200)
            first = connection.sock
            made = self.ask(connection, "POST", "/v1/memories", '{"name": "tls"}')
            self.assertLess(made.status, 300, made.body)
            large = '{"prompt": "' + "A harbour with boats. " * 20000 + '"}'
            self.assertEqual(self.ask(connection, "POST", "/tokenize", large).status, 200)
            self.assertIs(connection.sock, first)
            self.assertGreaterEqual(connection.sock.version(), "TLSv1.2")

    def test_an_answer_is_streamed(self):
        body = '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8, "stream": true}'
        with contextlib.closing(self.connect()) as connection:
            events = self.ask(connection, "POST", "/v1/chat/completions", body).events()
        self.assertEqual(events[-1][1], "[DONE]")
        self.assertGreater(len(events), 2)

    def test_the_last_reply_ends_as_it_should(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as plain:
            with self.trust.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False) as connection:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                self.assertIn(b" 200 ", read_all(connection))  # a connection that was cut would raise

    def test_a_client_that_goes_is_noticed(self):
        """With the protocol's word for it, which looks like a next request, and without."""
        body = '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 30000}'
        for politely in (False, True):
            before = self.server.log_text().count("POST /v1/chat 0 ")
            connection = self.connect()
            connection.request("POST", "/v1/chat/completions", body)
            if politely:
                connection.sock.settimeout(0.05)
                with contextlib.suppress(OSError):
                    connection.sock.unwrap()
            connection.close()
            wait_for(lambda: self.server.log_text().count("POST /v1/chat 0 ") > before,
                     "the request to end")

    def test_what_is_not_encrypted_is_not_answered(self):
        said = self.server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=20)
        self.assertNotIn(b"200", said)
        self.server.raw(b"\x16\x03\x01" + b"\xff" * 600, timeout=20)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as plain, self.assertRaises((ssl.SSLError, OSError)):
            old.wrap_socket(plain)
        with contextlib.closing(self.connect()) as connection:
            self.assertEqual(self.ask(connection, "GET", "/health").status, 200)

    def test_files_that_cannot_be_used(self):
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        _, other_key = make_certificate(other)
        for options, word in ((("--tls-certificate", self.certificate), "belong together"),
                              (("--tls-certificate", self.key, "--tls-key", self.key), "certificate"),
                              (("--tls-certificate", self.certificate, "--tls-key", other_key), "private key"),
                              (("--tls-certificate", self.certificate, "--tls-key", other / "none"), "none")):
            done = subprocess.run([PROGRAM, "serve", "--port", "0", *map(str, self.model), *map(str, options)], capture_output=True,
                                  timeout=60, env=plain_environment(MPLUS_HOME=self.folder / "elsewhere"))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr.decode())


if __name__ == "__main__":
    main()
