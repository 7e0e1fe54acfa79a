// One flight with a bit of everything: a takeover, a block, a recovery, a pause.

import { createHash } from 'node:crypto'
import { loadCore } from '../../../src/core/wasm.ts'
import { encode } from '../../../src/wire/write.ts'
import { goto, notice, range, Stage } from './stage.ts'

/** Everything that it published and sent, in one hash. */
export function fly(nudge_m = 0): { hash: string; frames: number } {
  const stage = new Stage(loadCore).fly()
  stage.context('map', 1).run(1200)
  stage.say([notice('n'), range, goto('a', 30), goto('b', 60, ['range', 'a'])])
  stage
    .run(1500)
    .set({ 'position.lat': goto('a', 30 + nudge_m).payload!.lat as number })
    .run(1100)
  stage.context('map', 2).run(1500)
  stage.say([{ ...range, id: 'range' }, goto('b', 40)], { recovers: 'r1' })
  stage.run(800).operate('pause').run(500).operate('resume').run(500)
  const hash = createHash('sha256')
  for (const { topic, retain, value } of stage.published) hash.update(topic).update(`${retain}`).update(encode(value))
  for (const { message, payload, at_ms } of stage.sent) hash.update(`${message} ${at_ms}`).update(payload)
  return { hash: hash.digest('hex'), frames: stage.sent.length }
}
