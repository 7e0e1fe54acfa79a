// All figures, in the order of a response's life.

import { admission } from './admission.ts'
import { agentspec } from './agentspec.ts'
import { decode } from './decode.ts'
import { digest } from './digest.ts'
import { frame } from './frame.ts'
import { garbage } from './garbage.ts'
import { gate } from './gate.ts'
import { judgement } from './judgement.ts'
import { observe } from './observe.ts'
import { peers } from './peers.ts'
import { response } from './response.ts'
import { undigested } from './undigested.ts'
import type { Work } from './work.ts'

/** By name: each makes its works anew, with cores and engines of their own. */
export const figures: Readonly<Record<string, () => Work[] | Promise<Work[]>>> = {
  decode,
  judgement,
  admission,
  response,
  gate,
  undigested,
  frame,
  observe,
  garbage,
  digest,
  peers,
  agentspec,
}
