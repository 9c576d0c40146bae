#include "mplus/train/model/layers/decoder_layer.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "mplus/train/model/layers/attention.h"

namespace mplus::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor heads(const Tensor& x, std::int64_t count) { return x.unflatten(-1, {count, -1}); }
Tensor rows_of(const Tensor& x) { return x.flatten(0, 1); }

// x + a·wᵀ
Tensor add_product(const Tensor& x, const Tensor& a, const Tensor& w) {
  return torch::addmm(rows_of(x), rows_of(a), w.t()).view(x.sizes());
}

// A head's rows [B, rows, heads, e] normed, where the model does so.
Tensor normed_heads(const Tensor& x, const Tensor& weight, float epsilon) {
  return weight.defined() ? normalise(x, weight, epsilon).y : x;
}

struct HeadGradients {
  Tensor x, weight;
};
// The way back through normed_heads; the weight's gradient where it is wanted.
HeadGradients normed_heads_back(const Tensor& dy, const Tensor& x, const Tensor& weight, float epsilon,
                                bool wanted) {
  if (!weight.defined()) return {dy, {}};
  const Tensor inverse = normalise(x, weight, epsilon).inverse;
  return {normalise_back(dy, x, weight, inverse, {}),
          wanted ? normalise_weight_back(dy, x, inverse) : Tensor()};
}

void add_to(Tensor& sum, const Tensor& part) {
  if (part.defined()) sum = sum.defined() ? sum + part : part;
}

// What autograd wants in the place of an undefined tensor.
using MaybeTensor = std::optional<Tensor>;
MaybeTensor maybe(const Tensor& x) { return x.defined() ? MaybeTensor(x) : std::nullopt; }

struct Layer : Function<Layer> {
  // Columns of a row of w.qkv's product, and where rows stand among the keys: [hidden | known | x].
  struct Shape {
    std::int64_t H, G, e, hidden, known, T;

    Shape(const Tensor& x, const Tensor& front, const Tensor& known_k, const Tensor& qkv, const Tensor& cos)
        : G(known_k.size(2)),
          e(2 * cos.size(1)),
          hidden(front.size(1)),
          known(known_k.size(1)),
          T(x.size(1)) {
      H = qkv.size(0) / e - 2 * G;
    }
    std::int64_t front() const { return hidden + known; }
    Tensor q(const Tensor& product) const { return heads(product.narrow(-1, 0, H * e), H); }
    Tensor k(const Tensor& product) const {
      return heads(product.narrow(-1, product.size(-1) - 2 * G * e, G * e), G);
    }
    Tensor v(const Tensor& product) const {
      return heads(product.narrow(-1, product.size(-1) - G * e, G * e), G);
    }
    // Rows of w.qkv, or numbers of its bias, that give keys and values.
    Tensor kv_rows(const Tensor& qkv) const {
      return qkv.defined() ? qkv.narrow(0, H * e, 2 * G * e) : Tensor();
    }
  };

  // What goes through autograd, in this order.
  struct Inputs {
    explicit Inputs(at::TensorList in)
        : x(in[0]),
          front(in[1]),
          known_k(in[2]),
          known_v(in[3]),
          attention_norm(in[4]),
          mlp_norm(in[5]),
          qkv(in[6]),
          o(in[7]),
          gate_up(in[8]),
          down(in[9]) {}
    const Tensor &x, &front, &known_k, &known_v, &attention_norm, &mlp_norm, &qkv, &o, &gate_up, &down;
  };
  struct Vectors {  // that some models have
    MaybeTensor qkv_bias, q_norm, k_norm;
  };
  struct Form {
    Rotation at;
    float epsilon;
    std::int64_t last;
    bool spare_memory;
  };

  // Of [hidden | known | x] keys and values, of x queries; queries and keys rotated.
  struct Projection {
    Tensor q, k, v;
  };
  static Projection project(const Inputs& in, const Vectors& vectors, const Form& form, const Shape& shape) {
    const Tensor bias = vectors.qkv_bias.value_or(Tensor()), q_norm = vectors.q_norm.value_or(Tensor()),
                 k_norm = vectors.k_norm.value_or(Tensor());
    const std::int64_t B = in.x.size(0), keys = shape.front() + shape.T;
    const Tensor k = torch::empty({B, keys, shape.G, shape.e}, in.x.options()), v = torch::empty_like(k);
    const auto at = [&](std::int64_t first, std::int64_t rows) {
      return Rotation{form.at.cos.narrow(0, first, rows), form.at.sin.narrow(0, first, rows)};
    };
    const auto place = [&](std::int64_t first, const Tensor& from_k, const Tensor& from_v) {
      const std::int64_t rows = from_k.size(1);
      if (rows == 0) return;
      rotate_into(from_k, k.narrow(1, first, rows), at(first, rows), Rotate::forward);
      v.narrow(1, first, rows).copy_(from_v);
    };
    if (shape.hidden > 0) {
      const Tensor product = torch::linear(normalise(in.front, in.attention_norm, form.epsilon).y,
                                           shape.kv_rows(in.qkv), shape.kv_rows(bias));
      place(0, normed_heads(shape.k(product), k_norm, form.epsilon), shape.v(product));
    }
    place(shape.hidden, in.known_k, in.known_v);
    const Tensor product = torch::linear(normalise(in.x, in.attention_norm, form.epsilon).y, in.qkv, bias);
    place(shape.front(), normed_heads(shape.k(product), k_norm, form.epsilon), shape.v(product));
    const Tensor q = torch::empty({B, shape.T, shape.H, shape.e}, in.x.options());
    rotate_into(normed_heads(shape.q(product), q_norm, form.epsilon), q, at(shape.front(), shape.T),
                Rotate::forward);
    return {q, k, v};
  }

  static variable_list forward(AutogradContext* context, at::TensorList inputs, const MaybeTensor& qkv_bias,
                               const MaybeTensor& q_norm, const MaybeTensor& k_norm, const Form& form) {
    const Inputs in(inputs);
    const Vectors vectors{qkv_bias, q_norm, k_norm};
    const Shape shape(in.x, in.front, in.known_k, in.qkv, form.at.cos);
    const Projection own = project(in, vectors, form, shape);
    const Attention attention = attend(own.q, own.k, own.v);
    const Tensor mid = add_product(in.x, attention.out.flatten(2), in.o);  // [B, T, d]
    const Tensor gate_and_up = torch::linear(normalise(mid, in.mlp_norm, form.epsilon).y, in.gate_up);
    const Tensor y = add_product(mid, swiglu(gate_and_up), in.down);
    variable_list kept = {in.x,
                          in.front,
                          in.known_k,
                          in.attention_norm,
                          in.mlp_norm,
                          in.qkv,
                          in.o,
                          in.gate_up,
                          in.down,
                          form.at.cos,
                          form.at.sin,
                          own.q,
                          own.k,
                          own.v,
                          attention.out,
                          mid,
                          form.spare_memory ? Tensor() : gate_and_up,
                          qkv_bias.value_or(Tensor()),
                          q_norm.value_or(Tensor()),
                          k_norm.value_or(Tensor())};
    kept.insert(kept.end(), attention.for_backward.begin(), attention.for_backward.end());
    context->save_for_backward(kept);
    note_what_is_trained(context, in, vectors);
    context->saved_data["epsilon"] = static_cast<double>(form.epsilon);
    context->set_materialize_grads(false);
    return {y, y.narrow(1, y.size(1) - form.last, form.last).clone()};
  }

  static void note_what_is_trained(AutogradContext* context, const Inputs& in, const Vectors& vectors) {
    const auto trained = [](const MaybeTensor& vector) { return vector && vector->requires_grad(); };
    auto& data = context->saved_data;
    data["norms"] = in.attention_norm.requires_grad() || in.mlp_norm.requires_grad();
    data["qkv"] = in.qkv.requires_grad();
    data["qkv_bias"] = trained(vectors.qkv_bias);
    data["head_norms"] = trained(vectors.q_norm);
    data["o"] = in.o.requires_grad();
    data["mlp"] = in.gate_up.requires_grad() || in.down.requires_grad();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

// The way back through a layer, from its output to its input.
class LayerBackward {
 public:
  explicit LayerBackward(AutogradContext* context)
      : kept_(context->get_saved_variables()),
        shape_(x_, front_, known_k_, qkv_, kept_[9]),
        epsilon_(static_cast<float>(context->saved_data["epsilon"].toDouble())),
        norms_(context->saved_data["norms"].toBool()),
        biases_(context->saved_data["qkv_bias"].toBool()),
        head_norms_(context->saved_data["head_norms"].toBool()),
        matrices_{.qkv = context->saved_data["qkv"].toBool(),
                  .o = context->saved_data["o"].toBool(),
                  .mlp = context->saved_data["mlp"].toBool()} {}

  variable_list run(const variable_list& gradients) {
    const Tensor dmid = through_mlp(of_output(gradients));
    through_attention(dmid);
    through_own_rows(dmid);
    dfront_ = torch::empty_like(front_);
    dknown_k_ = torch::empty_like(known_k_);
    dknown_v_ = torch::empty_like(known_k_);
    if (shape_.hidden > 0) through_front();
    if (shape_.known > 0) through_known();
    return {dx_, dfront_,   dknown_k_, dknown_v_,  dattention_norm_, dmlp_norm_, dqkv_,
            do_, dgate_up_, ddown_,    dqkv_bias_, dq_norm_,         dk_norm_,   Tensor()};
  }

 private:
  // The gradient of a matrix: dyᵀ·x over all rows.
  static Tensor of_matrix(const Tensor& dy, const Tensor& rows, bool wanted) {
    return wanted ? torch::mm(rows_of(dy).t(), rows_of(rows)) : Tensor();
  }
  Rotation at(std::int64_t first, std::int64_t rows) const {
    return {kept_[9].narrow(0, first, rows), kept_[10].narrow(0, first, rows)};
  }

  // Of the whole output, and once more of its last rows.
  Tensor of_output(const variable_list& gradients) const {
    Tensor dy = gradients[0].defined() ? gradients[0].contiguous() : torch::zeros_like(x_);
    if (gradients[1].defined() && gradients[1].size(1) > 0) {
      if (gradients[0].defined()) dy = dy.clone();
      const std::int64_t last = gradients[1].size(1);
      dy.narrow(1, shape_.T - last, last).add_(gradients[1]);
    }
    return dy;
  }

  Tensor through_mlp(const Tensor& dy) {
    const Normed normed = normalise(mid_, mlp_norm_, epsilon_);
    const Tensor gate_and_up = kept_[16].defined() ? kept_[16] : torch::linear(normed.y, gate_up_);
    ddown_ = of_matrix(dy, swiglu(gate_and_up), matrices_.mlp);
    const Tensor dgate_and_up = swiglu_back(torch::matmul(dy, down_), gate_and_up);
    dgate_up_ = of_matrix(dgate_and_up, normed.y, matrices_.mlp);
    const Tensor dnormed = torch::matmul(dgate_and_up, gate_up_);
    if (norms_) dmlp_norm_ = normalise_weight_back(dnormed, mid_, normed.inverse);
    return normalise_back(dnormed, mid_, mlp_norm_, normed.inverse, dy);
  }

  void through_attention(const Tensor& dmid) {
    const Tensor& out = kept_[14];
    do_ = of_matrix(dmid, out.flatten(2), matrices_.o);
    d_ = attend_back(heads(torch::matmul(dmid, o_), shape_.H), q_, kept_[12], kept_[13],
                     {out, {kept_.begin() + 20, kept_.end()}});
  }

  // Gradients of keys and values at `first` into their columns of a product's gradient. Where heads are
  // normed, what they were before that is needed: the product is computed again.
  void take_keys_and_values(std::int64_t first, const Tensor& product, const Tensor& dproduct) {
    const std::int64_t rows = dproduct.size(1);
    const Tensor dk = shape_.k(dproduct);
    shape_.v(dproduct).copy_(d_.v.narrow(1, first, rows));
    if (!k_norm_.defined())
      return rotate_into(d_.k.narrow(1, first, rows), dk, at(first, rows), Rotate::back);
    const Tensor back = torch::empty({x_.size(0), rows, shape_.G, shape_.e}, x_.options());
    rotate_into(d_.k.narrow(1, first, rows), back, at(first, rows), Rotate::back);
    const HeadGradients of = normed_heads_back(back, shape_.k(product), k_norm_, epsilon_, head_norms_);
    dk.copy_(of.x);
    add_to(dk_norm_, of.weight);
  }

  void take_queries(const Tensor& product, const Tensor& dproduct) {
    const Rotation own = at(shape_.front(), shape_.T);
    if (!q_norm_.defined()) return rotate_into(d_.q, shape_.q(dproduct), own, Rotate::back);
    const Tensor back = torch::empty_like(q_);
    rotate_into(d_.q, back, own, Rotate::back);
    const HeadGradients of = normed_heads_back(back, shape_.q(product), q_norm_, epsilon_, head_norms_);
    shape_.q(dproduct).copy_(of.x);
    dq_norm_ = of.weight;
  }

  void through_own_rows(const Tensor& dmid) {
    const Normed normed = normalise(x_, attention_norm_, epsilon_);
    const Tensor product = k_norm_.defined() ? torch::linear(normed.y, qkv_, qkv_bias_) : Tensor();
    const Tensor dproduct = torch::empty({x_.size(0), shape_.T, qkv_.size(0)}, x_.options());
    take_queries(product, dproduct);
    take_keys_and_values(shape_.front(), product, dproduct);
    dqkv_ = of_matrix(dproduct, normed.y, matrices_.qkv);
    if (biases_) dqkv_bias_ = rows_of(dproduct).sum(0);
    const Tensor dnormed = torch::matmul(dproduct, qkv_);
    if (norms_) dattention_norm_ = normalise_weight_back(dnormed, x_, normed.inverse);
    dx_ = normalise_back(dnormed, x_, attention_norm_, normed.inverse, dmid);
  }

  void through_front() {
    const Normed normed = normalise(front_, attention_norm_, epsilon_);
    const Tensor kv = shape_.kv_rows(qkv_);
    const Tensor dproduct = torch::empty({x_.size(0), shape_.hidden, 2 * shape_.G * shape_.e}, x_.options());
    take_keys_and_values(
        0, k_norm_.defined() ? torch::linear(normed.y, kv, shape_.kv_rows(qkv_bias_)) : Tensor(), dproduct);
    if (dqkv_.defined()) shape_.kv_rows(dqkv_).addmm_(rows_of(dproduct).t(), rows_of(normed.y));
    if (biases_) shape_.kv_rows(dqkv_bias_).add_(rows_of(dproduct).sum(0));
    const Tensor dnormed = torch::matmul(dproduct, kv);
    dfront_ = normalise_back(dnormed, front_, attention_norm_, normed.inverse, {});
    if (norms_) dattention_norm_ += normalise_weight_back(dnormed, front_, normed.inverse);
  }

  void through_known() {
    rotate_into(d_.k.narrow(1, shape_.hidden, shape_.known), dknown_k_, at(shape_.hidden, shape_.known),
                Rotate::back);
    dknown_v_.copy_(d_.v.narrow(1, shape_.hidden, shape_.known));
  }

  struct Trained {
    bool qkv, o, mlp;
  };

  const variable_list kept_;  // as Layer::forward saves them
  const Tensor &x_ = kept_[0], &front_ = kept_[1], &known_k_ = kept_[2], &attention_norm_ = kept_[3],
               &mlp_norm_ = kept_[4], &qkv_ = kept_[5], &o_ = kept_[6], &gate_up_ = kept_[7],
               &down_ = kept_[8], &q_ = kept_[11], &mid_ = kept_[15], &qkv_bias_ = kept_[17],
               &q_norm_ = kept_[18], &k_norm_ = kept_[19];
  const Layer::Shape shape_;
  const float epsilon_;
  const bool norms_, biases_, head_norms_;
  const Trained matrices_;
  AttentionGradients d_;  // of queries, keys and values, rotated
  Tensor dx_, dfront_, dknown_k_, dknown_v_, dattention_norm_, dmlp_norm_, dqkv_, do_, dgate_up_, ddown_,
      dqkv_bias_, dq_norm_, dk_norm_;
};

variable_list Layer::backward(AutogradContext* context, const variable_list& gradients) {
  return LayerBackward(context).run(gradients);
}

}  // namespace

KeyValue project_rows(const LayerWeights& w, const io::ModelConfig& config, const Tensor& normed) {
  const std::int64_t kv = config.kv_heads * config.head_size;
  const auto of_kv = [&](const Tensor& qkv) {
    return qkv.defined() ? qkv.narrow(0, qkv.size(0) - 2 * kv, 2 * kv) : Tensor();
  };
  const auto parts = torch::linear(normed, of_kv(w.qkv), of_kv(w.qkv_bias)).chunk(2, -1);
  const Tensor k = heads(parts[0], config.kv_heads);
  return {w.k_norm.defined() ? rms_norm(k, w.k_norm, config.norm_epsilon) : k,
          heads(parts[1], config.kv_heads)};
}

LayerOutput decoder_layer(const LayerWeights& w, const io::ModelConfig& config, const Tensor& x,
                          const Front& front, RopeTable& rope, std::int64_t last) {
  const std::int64_t B = x.size(0), d = x.size(2);
  const Tensor none = torch::empty({B, 0, config.kv_heads, config.head_size}, x.options());
  const Tensor hidden = front.hidden.defined() ? front.hidden : torch::empty({B, 0, d}, x.options());
  const Tensor known_k = front.known.k.defined() ? front.known.k : none;
  const Tensor known_v = front.known.v.defined() ? front.known.v : none;
  const Rotation at = rope.rows(0, hidden.size(1) + known_k.size(1) + x.size(1));
  const Tensor inputs[] = {x,          hidden, known_k, known_v,   w.attention_norm,
                           w.mlp_norm, w.qkv,  w.o,     w.gate_up, w.down};
  const at::TensorList list = inputs;
  const Layer::Form form{at, config.norm_epsilon, last, w.spare_memory};
  const variable_list out = Layer::apply(list, maybe(w.qkv_bias), maybe(w.q_norm), maybe(w.k_norm), form);
  return {out[0], last > 0 ? out[1] : Tensor()};
}

}  // namespace mplus::train
