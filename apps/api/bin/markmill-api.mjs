#!/usr/bin/env node
import { onPinnedNode } from "@markmill/stack/pinned-node.mjs";

await onPinnedNode(import.meta.url, () => import("../src/main.ts"));
