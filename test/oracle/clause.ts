// What a clause says, by walking its tree (PROTOCOL 3). NaN stands for everything that is not finite, unknown or absent.

import { Reason } from '../../build/abi.ts'
import type { SlotValue, Validity } from '../../src/core/core.ts'
import { EARTH_RADIUS_M, type Expression, reads } from '../../src/core/expression.ts'

/** A field in one tense. */
export interface Sight {
  readonly value: number
  readonly received_ms: number
  readonly version: number
  readonly validity: Validity
}

/** Everything that an expression can see. */
export interface Scene {
  readonly now_ms: number
  readonly now: readonly Sight[]
  readonly cited: readonly Sight[]
  readonly payload: readonly SlotValue[]
  readonly elapsed_ms: number
  readonly target: readonly [number, number] | undefined
}

export interface No {
  readonly reason: Reason
  readonly detail: number
}

/** The first field that is unknown, else the first that is stale, in a tense in which it is read (G5). */
export function unseen(expressions: readonly Expression[], watches: readonly number[], scene: Scene): No | undefined {
  const { now, known, cited } = reads(...expressions)
  const fields = scene.now.map((_, field) => field)
  const watched = new Set(watches)
  const is = (field: number, validity: Validity): boolean =>
    ((now.has(field) || watched.has(field)) && scene.now[field]!.validity === validity) ||
    (known.has(field) && validity === 'unknown' && scene.now[field]!.validity === 'unknown') ||
    ((cited.has(field) || watched.has(field)) && scene.cited[field]!.validity === validity)
  const unknown = fields.find((field) => is(field, 'unknown'))
  if (unknown !== undefined) return { reason: Reason.state_unknown, detail: unknown }
  const stale = fields.find((field) => is(field, 'stale'))
  return stale === undefined ? undefined : { reason: Reason.state_stale, detail: stale }
}

/** Only true holds: unknown and stale are no, whatever negation stands around them (G5). */
export function holds(expression: Expression, scene: Scene): boolean {
  return unseen([expression], [], scene) === undefined && evaluate(expression, scene) === 1
}

/** The value, or NaN if anything on the way was not finite. */
export function evaluate(e: Expression, scene: Scene): number {
  const args = 'args' in e ? e.args.map((arg) => evaluate(arg, scene)) : []
  const value = args.some(Number.isNaN) ? Number.NaN : apply(e, args as [number, number, number, number], scene)
  return Number.isFinite(value) ? value : Number.NaN
}

function apply(e: Expression, [a, b, c, d]: [number, number, number, number], scene: Scene): number {
  switch (e.op) {
    case 'number':
      return e.value
    case 'now':
      return scene.now[e.field]!.value
    case 'cited':
      return scene.cited[e.field]!.value
    case 'age':
      return scene.now_ms - scene.now[e.field]!.received_ms
    case 'unchanged':
      return Number(scene.now[e.field]!.version === scene.cited[e.field]!.version)
    case 'drift':
      return drift(scene.now[e.field]!.value, scene.cited[e.field]!.value, e.angle)
    case 'payload':
      return slot(scene, e, (value) => value as number)
    case 'has':
      return Number(scene.payload[e.slot] !== undefined)
    case 'text':
      return slot(scene, e, (value) => Number(value === e.value))
    case 'length':
      return slot(scene, e, (value) => Buffer.byteLength(value as string))
    case 'elapsed':
      return scene.elapsed_ms
    case 'target':
      return scene.target?.[e.part] ?? Number.NaN
    case 'neg':
      return -a
    case 'not':
      return 1 - a
    case 'abs':
      return Math.abs(a)
    case 'add':
      return a + b
    case 'sub':
      return a - b
    case 'mul':
      return a * b
    case 'div':
      return a / b
    case 'min':
      return Math.min(a, b)
    case 'max':
      return Math.max(a, b)
    case 'lt':
      return Number(a < b)
    case 'le':
      return Number(a <= b)
    case 'gt':
      return Number(a > b)
    case 'ge':
      return Number(a >= b)
    case 'eq':
      return Number(a === b)
    case 'ne':
      return Number(a !== b)
    case 'and':
      return Number(a === 1 && b === 1)
    case 'or':
      return Number(a === 1 || b === 1)
    case 'select':
      return a === 1 ? b : c
    case 'distance':
      return distance(a, b, c, d)
  }
}

function slot(scene: Scene, e: { slot: number; guarded: boolean }, read: (value: SlotValue) => number): number {
  const value = scene.payload[e.slot]
  if (value === undefined) return e.guarded ? 0 : Number.NaN
  return read(value)
}

export function drift(now: number, cited: number, angle: boolean): number {
  const d = Math.abs(now - cited)
  return angle ? Math.min(d % 360, 360 - (d % 360)) : d
}

function distance(lat1: number, lon1: number, lat2: number, lon2: number): number {
  const isPlace = (lat: number, lon: number): boolean => Math.abs(lat) <= 90 && Math.abs(lon) <= 180
  if (!isPlace(lat1, lon1) || !isPlace(lat2, lon2)) return Number.NaN
  const rad = Math.PI / 180
  const haversine = (angle: number): number => Math.sin((angle * rad) / 2) ** 2
  const h = haversine(lat2 - lat1) + Math.cos(lat1 * rad) * Math.cos(lat2 * rad) * haversine(lon2 - lon1)
  return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(Math.min(1, h)))
}
