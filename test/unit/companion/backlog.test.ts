// The rule on virtual time: what one turn of a real loop proves. Real sockets are in `arrival.test.ts`.

import { setImmediate as turnEnds } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Backlog } from '../../../companion/mavlink/backlog.ts'

class Hand {
  at_ms = 100
  now(): number {
    return this.at_ms
  }
}

/** A look and the poll phase behind it. */
async function looked(backlog: Backlog): Promise<void> {
  backlog.look()
  for (let turn = 0; turn < 3; turn++) await turnEnds()
}

it('G5: dates what was read to the moment at which the source was made, until it is found empty', async () => {
  const clock = new Hand()
  const backlog = new Backlog(clock, 32)
  clock.at_ms = 5000
  expect(backlog.piece()).toBe(100)
  await turnEnds()
  // Empty at some time of that turn, which began in front of it: at 100 for all that is known.
  expect(backlog.piece()).toBe(100)
  await turnEnds()
  expect(backlog.piece()).toBe(5000)
})

it('G5: full batches prove nothing, one that is not full what was before its turn', async () => {
  const clock = new Hand()
  const backlog = new Backlog(clock, 32)
  await looked(backlog)
  clock.at_ms = 2100
  for (let turn = 0; turn < 6; turn++) {
    for (let piece = 0; piece < 32; piece++) expect(backlog.piece()).toBe(100)
    await turnEnds()
    clock.at_ms += 1
  }
  for (let piece = 0; piece < 31; piece++) expect(backlog.piece()).toBe(100)
  await turnEnds()
  expect(backlog.piece()).toBe(2105) // noted behind the last full one
})

it('G5: a look finds it empty at a time in front of the poll, not behind a callback that took long', async () => {
  const clock = new Hand()
  const backlog = new Backlog(clock, 32)
  clock.at_ms = 200
  await looked(backlog)
  clock.at_ms = 450 // another socket's callback
  expect(backlog.piece()).toBe(200)
})

it('G5: what was full and may be filled from behind is believed to be empty only once that had its time', async () => {
  const clock = new Hand()
  const backlog = new Backlog(clock, undefined, 50)
  await looked(backlog)
  clock.at_ms = 1000
  expect(backlog.piece(true)).toBe(100)
  await looked(backlog)
  clock.at_ms = 1040
  await looked(backlog)
  expect(backlog.piece()).toBe(100)
  clock.at_ms = 1050
  await looked(backlog)
  expect(backlog.piece()).toBe(1050)
})
