#pragma once

#include <gloo/rendezvous/store.h>  // all names
