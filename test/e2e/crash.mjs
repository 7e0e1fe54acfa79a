// Preloaded into a companion: it dies, as by kill -9, just before a step between an irreversible intent and its end on the
// disk. HALO_CRASH_AT is the number of the step, counted from the first write of an intent: each write, sync and rename of the
// journal, and each frame that opens the gripper.

import { Socket } from 'node:dgram'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'

const COMMAND_LONG = 76
const COMMAND_AT = 10 + 28
const DO_GRIPPER = 211

const at = Number(process.env.HALO_CRASH_AT)
let steps = 0

function step() {
  if (++steps === at) process.kill(process.pid, 'SIGKILL')
}

function before(object, name, counts) {
  const original = object[name]
  object[name] = function (...args) {
    if (steps > 0 || counts(...args)) step()
    return original.apply(this, args)
  }
}

const handle = await files.open(fileURLToPath(import.meta.url))
const FileHandle = Object.getPrototypeOf(handle)
await handle.close()
before(FileHandle, 'writeFile', (text) => String(text).includes('"intents":[{'))
before(FileHandle, 'sync', () => false)
before(files, 'rename', () => false)
syncBuiltinESMExports()

const { send } = Socket.prototype
Socket.prototype.send = function (bytes, ...rest) {
  const long = bytes[7] === COMMAND_LONG && bytes[8] === 0 && bytes[9] === 0
  if (long && (bytes[COMMAND_AT] | (bytes[COMMAND_AT + 1] << 8)) === DO_GRIPPER) step()
  return send.call(this, bytes, ...rest)
}
