#include "mplus/serve/http/transport.h"

#include <openssl/ssl.h>

#include "mplus/core/error.h"

namespace mplus::serve {

namespace ssl = boost::asio::ssl;

std::unique_ptr<ssl::context> tls_context(const TlsFiles& files) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_compression);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  boost::system::error_code error;
  context->use_certificate_chain_file(files.certificate, error);
  if (error)
    fail(ErrorCode::invalid_argument, "{}: cannot be used as a certificate (PEM, our own first): {}",
         files.certificate, error.message());
  context->use_private_key_file(files.key, ssl::context::pem, error);
  if (error)
    fail(ErrorCode::invalid_argument, "{}: cannot be used as the private key (PEM) of {}: {}", files.key,
         files.certificate, error.message());
  return context;
}

}  // namespace mplus::serve
