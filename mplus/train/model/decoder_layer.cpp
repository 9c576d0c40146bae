#include "mplus/train/model/decoder_layer.h"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace mplus::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor heads(const Tensor& x, std::int64_t count) { return x.unflatten(-1, {count, -1}); }
Tensor rows_of(const Tensor& x) { return x.flatten(0, 1); }

// --- attention: row t of q sees the first (keys − T) + t + 1 rows of k, causal, aligned to the end ---

struct Attention {
  Tensor out;                  // [B, T, H, e]
  variable_list for_backward;  // what the way back needs beside q, k, v and out
};

#ifdef MPLUS_TRAIN_CUDA
bool uses_flash(const Tensor& q) { return q.is_cuda() && q.scalar_type() == torch::kBFloat16; }
#endif

Tensor attend_composed(const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t T = q.size(1), keys = k.size(1), shared = q.size(2) / k.size(2);
  const Tensor seen = torch::ones({T, keys}, q.options().dtype(torch::kBool)).tril(keys - T);
  const auto each_head = [&](const Tensor& x) { return x.repeat_interleave(shared, 2).transpose(1, 2); };
  return torch::scaled_dot_product_attention(q.transpose(1, 2), each_head(k), each_head(v), seen)
      .transpose(1, 2)
      .contiguous();
}

Attention attend(const Tensor& q, const Tensor& k, const Tensor& v) {
#ifdef MPLUS_TRAIN_CUDA
  if (uses_flash(q)) {  // aligned so, and heads shared
    auto [out, sums, starts_q, starts_k, most_q, most_k, seed, offset, mask] =
        at::_scaled_dot_product_flash_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), 0.0,
                                                /*is_causal=*/true);
    return {out.transpose(1, 2), {sums, seed, offset}};
  }
#endif
  return {attend_composed(q, k, v), {}};
}

struct AttentionGradients {
  Tensor q, k, v;  // as their tensors
};

AttentionGradients attend_back(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                               [[maybe_unused]] const Tensor& out,
                               [[maybe_unused]] const variable_list& kept) {
#ifdef MPLUS_TRAIN_CUDA
  if (uses_flash(q)) {
    const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_backward(
        dout.transpose(1, 2), q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), out.transpose(1, 2),
        kept[0], Tensor(), Tensor(), q.size(1), k.size(1), 0.0, /*is_causal=*/true, kept[1], kept[2]);
    return {dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)};
  }
#endif
  const torch::AutoGradMode again(true);
  const variable_list inputs = {q.detach().requires_grad_(), k.detach().requires_grad_(),
                                v.detach().requires_grad_()};
  const variable_list d =
      torch::autograd::grad({attend_composed(inputs[0], inputs[1], inputs[2])}, inputs, {dout});
  return {d[0], d[1], d[2]};
}

// --- the layer ---

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

  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& front,
                               const Tensor& known_k, const Tensor& known_v, const Tensor& attention_norm,
                               const Tensor& mlp_norm, const Tensor& qkv, const Tensor& o,
                               const Tensor& gate_up, const Tensor& down, const MaybeTensor& maybe_bias,
                               const MaybeTensor& maybe_q_norm, const MaybeTensor& maybe_k_norm,
                               const Tensor& cos, const Tensor& sin, double epsilon, std::int64_t last,
                               bool spare_memory) {
    const Tensor qkv_bias = maybe_bias.value_or(Tensor()), q_norm = maybe_q_norm.value_or(Tensor()),
                 k_norm = maybe_k_norm.value_or(Tensor());
    const Shape shape(x, front, known_k, qkv, cos);
    const auto near_zero = static_cast<float>(epsilon);
    const std::int64_t B = x.size(0), keys = shape.front() + shape.T;
    const Tensor k = torch::empty({B, keys, shape.G, shape.e}, x.options()), v = torch::empty_like(k);
    const auto at = [&](std::int64_t first, std::int64_t rows) {
      return Rotation{cos.narrow(0, first, rows), sin.narrow(0, first, rows)};
    };
    const auto place = [&](std::int64_t first, const Tensor& from_k, const Tensor& from_v) {
      const std::int64_t rows = from_k.size(1);
      if (rows == 0) return;
      rotate_into(from_k, k.narrow(1, first, rows), at(first, rows), Turn::there);
      v.narrow(1, first, rows).copy_(from_v);
    };
    if (shape.hidden > 0) {
      const Tensor product = torch::linear(normalise(front, attention_norm, near_zero).y, shape.kv_rows(qkv),
                                           shape.kv_rows(qkv_bias));
      place(0, normed_heads(shape.k(product), k_norm, near_zero), shape.v(product));
    }
    place(shape.hidden, known_k, known_v);
    const Tensor product = torch::linear(normalise(x, attention_norm, near_zero).y, qkv, qkv_bias);
    place(shape.front(), normed_heads(shape.k(product), k_norm, near_zero), shape.v(product));
    const Tensor q = torch::empty({B, shape.T, shape.H, shape.e}, x.options());
    rotate_into(normed_heads(shape.q(product), q_norm, near_zero), q, at(shape.front(), shape.T),
                Turn::there);
    const Attention attention = attend(q, k, v);
    const Tensor mid = add_product(x, attention.out.flatten(2), o);  // [B, T, d]
    const Tensor gate_and_up = torch::linear(normalise(mid, mlp_norm, near_zero).y, gate_up);
    const Tensor y = add_product(mid, swiglu(gate_and_up), down);

    variable_list kept = {x,
                          front,
                          known_k,
                          attention_norm,
                          mlp_norm,
                          qkv,
                          o,
                          gate_up,
                          down,
                          cos,
                          sin,
                          q,
                          k,
                          v,
                          attention.out,
                          mid,
                          spare_memory ? Tensor() : gate_and_up,
                          qkv_bias,
                          q_norm,
                          k_norm};
    kept.insert(kept.end(), attention.for_backward.begin(), attention.for_backward.end());
    context->save_for_backward(kept);
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["norms"] = attention_norm.requires_grad() || mlp_norm.requires_grad();
    context->saved_data["qkv"] = qkv.requires_grad();
    context->saved_data["qkv_bias"] = qkv_bias.defined() && qkv_bias.requires_grad();
    context->saved_data["head_norms"] = q_norm.defined() && q_norm.requires_grad();
    context->saved_data["o"] = o.requires_grad();
    context->saved_data["mlp"] = gate_up.requires_grad() || down.requires_grad();
    context->set_materialize_grads(false);
    return {y, y.narrow(1, y.size(1) - last, last).clone()};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list kept = context->get_saved_variables();
    const Tensor &x = kept[0], &front = kept[1], &known_k = kept[2], &attention_norm = kept[3],
                 &mlp_norm = kept[4], &qkv = kept[5], &o = kept[6], &gate_up = kept[7], &down = kept[8],
                 &cos = kept[9], &sin = kept[10], &q = kept[11], &k = kept[12], &v = kept[13],
                 &out = kept[14], &mid = kept[15], &qkv_bias = kept[17], &q_norm = kept[18],
                 &k_norm = kept[19];
    const Shape shape(x, front, known_k, qkv, cos);
    const auto epsilon = static_cast<float>(context->saved_data["epsilon"].toDouble());
    const auto trains = [&](const char* what) { return context->saved_data[what].toBool(); };
    const bool norms = trains("norms"), biases = trains("qkv_bias"), head_norms = trains("head_norms");
    const auto at = [&](std::int64_t first, std::int64_t rows) {
      return Rotation{cos.narrow(0, first, rows), sin.narrow(0, first, rows)};
    };
    // The gradient of a matrix: dyᵀ·x over all rows.
    const auto of_matrix = [](const Tensor& dy, const Tensor& rows, bool wanted) {
      return wanted ? torch::mm(rows_of(dy).t(), rows_of(rows)) : Tensor();
    };
    const auto times = [](const Tensor& dy, const Tensor& matrix) { return torch::matmul(dy, matrix); };

    Tensor dy = gradients[0].defined() ? gradients[0].contiguous() : torch::zeros_like(x);
    if (gradients[1].defined() && gradients[1].size(1) > 0) {
      if (gradients[0].defined()) dy = dy.clone();
      const std::int64_t last = gradients[1].size(1);
      dy.narrow(1, shape.T - last, last).add_(gradients[1]);
    }
    const Normed mid_normed = normalise(mid, mlp_norm, epsilon);
    const Tensor gate_and_up = kept[16].defined() ? kept[16] : torch::linear(mid_normed.y, gate_up);
    const Tensor ddown = of_matrix(dy, swiglu(gate_and_up), trains("mlp"));
    const Tensor dgate_and_up = swiglu_back(times(dy, down), gate_and_up);
    const Tensor dgate_up = of_matrix(dgate_and_up, mid_normed.y, trains("mlp"));
    const Tensor dmid_normed = times(dgate_and_up, gate_up);
    const Tensor dmid = normalise_back(dmid_normed, mid, mlp_norm, mid_normed.inverse, dy);

    const Tensor doutput = of_matrix(dmid, out.flatten(2), trains("o"));
    const AttentionGradients d = attend_back(heads(times(dmid, o), shape.H), q, k, v, out,
                                             variable_list(kept.begin() + 20, kept.end()));
    const Normed normed = normalise(x, attention_norm, epsilon);
    Tensor dq_norm, dk_norm;
    // Gradients of keys and values at `first` into their columns of a product's gradient. Where heads are
    // normed, what they were before that is needed: the product is computed again.
    const auto take = [&](std::int64_t first, const Tensor& product, const Tensor& dproduct) {
      const std::int64_t rows = dproduct.size(1);
      const Tensor dk = shape.k(dproduct);
      shape.v(dproduct).copy_(d.v.narrow(1, first, rows));
      if (!k_norm.defined()) return rotate_into(d.k.narrow(1, first, rows), dk, at(first, rows), Turn::back);
      const Tensor back = torch::empty({x.size(0), rows, shape.G, shape.e}, x.options());
      rotate_into(d.k.narrow(1, first, rows), back, at(first, rows), Turn::back);
      const HeadGradients of = normed_heads_back(back, shape.k(product), k_norm, epsilon, head_norms);
      dk.copy_(of.x);
      add_to(dk_norm, of.weight);
    };
    const Tensor product = k_norm.defined() ? torch::linear(normed.y, qkv, qkv_bias) : Tensor();
    const Tensor dproduct = torch::empty({x.size(0), shape.T, qkv.size(0)}, x.options());
    if (q_norm.defined()) {
      const Tensor back = torch::empty_like(q);
      rotate_into(d.q, back, at(shape.front(), shape.T), Turn::back);
      const HeadGradients of = normed_heads_back(back, shape.q(product), q_norm, epsilon, head_norms);
      shape.q(dproduct).copy_(of.x);
      dq_norm = of.weight;
    } else {
      rotate_into(d.q, shape.q(dproduct), at(shape.front(), shape.T), Turn::back);
    }
    take(shape.front(), product, dproduct);
    Tensor dqkv = of_matrix(dproduct, normed.y, trains("qkv"));
    Tensor dqkv_bias = biases ? rows_of(dproduct).sum(0) : Tensor();
    const Tensor dnormed = times(dproduct, qkv);
    const Tensor dx = normalise_back(dnormed, x, attention_norm, normed.inverse, dmid);

    Tensor dattention_norm, dmlp_norm;
    if (norms) {
      dattention_norm = normalise_weight_back(dnormed, x, normed.inverse);
      dmlp_norm = normalise_weight_back(dmid_normed, mid, mid_normed.inverse);
    }
    Tensor dfront = torch::empty_like(front), dknown_k = torch::empty_like(known_k),
           dknown_v = torch::empty_like(known_k);
    if (shape.hidden > 0) {
      const Normed front_normed = normalise(front, attention_norm, epsilon);
      const Tensor kv = shape.kv_rows(qkv);
      const Tensor dfront_product =
          torch::empty({x.size(0), shape.hidden, 2 * shape.G * shape.e}, x.options());
      take(0, k_norm.defined() ? torch::linear(front_normed.y, kv, shape.kv_rows(qkv_bias)) : Tensor(),
           dfront_product);
      if (dqkv.defined()) shape.kv_rows(dqkv).addmm_(rows_of(dfront_product).t(), rows_of(front_normed.y));
      if (biases) shape.kv_rows(dqkv_bias).add_(rows_of(dfront_product).sum(0));
      const Tensor dfront_normed = times(dfront_product, kv);
      dfront = normalise_back(dfront_normed, front, attention_norm, front_normed.inverse, {});
      if (norms) dattention_norm += normalise_weight_back(dfront_normed, front, front_normed.inverse);
    }
    if (shape.known > 0) {
      rotate_into(d.k.narrow(1, shape.hidden, shape.known), dknown_k, at(shape.hidden, shape.known),
                  Turn::back);
      dknown_v.copy_(d.v.narrow(1, shape.hidden, shape.known));
    }
    return {dx,    dfront,    dknown_k, dknown_v, dattention_norm, dmlp_norm, dqkv,     doutput,  dgate_up,
            ddown, dqkv_bias, dq_norm,  dk_norm,  Tensor(),        Tensor(),  Tensor(), Tensor(), Tensor()};
  }
};

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
  const variable_list out =
      Layer::apply(x, hidden, known_k, known_v, w.attention_norm, w.mlp_norm, w.qkv, w.o, w.gate_up, w.down,
                   maybe(w.qkv_bias), maybe(w.q_norm), maybe(w.k_norm), at.cos, at.sin,
                   static_cast<double>(config.norm_epsilon), last, w.spare_memory);
  return {out[0], last > 0 ? out[1] : Tensor()};
}

}  // namespace mplus::train
