// Numbers into words: what a core's detail means, and the values of the outgoing messages (PROTOCOL 12 and 14).

import { Reason, ReasonWords } from '../../../build/abi.ts'
import type { Catalog, ComponentType, StateField } from '../../catalog/catalog.ts'
import { phaseWord } from '../../catalog/published.ts'
import type { Core, SlotValue, Validity } from '../../core/core.ts'
import type { End, Instance } from './plan.ts'

/**
 * What a core's `detail` names, for a component of this type (see `Admitted` and `Gate`). `grounds` has the words for a clause that
 * does not hold, with its values.
 */
export function detailWords(
  catalog: Catalog,
  type: ComponentType,
  reason: Reason,
  detail: number | string | undefined,
  nameOf: (prerequisite: number) => string | undefined,
  grounds?: (clause: number) => string | undefined,
): string | undefined {
  if (typeof detail !== 'number') return detail
  if (detail < 0) return undefined
  switch (reason) {
    case Reason.payload_invalid: {
      const bound = type.bounds[detail]
      return bound && `${bound.field}: ${bound.bound}`
    }
    case Reason.state_unknown:
    case Reason.state_stale:
    case Reason.changed:
    case Reason.out_of_tolerance:
      return catalog.fields[detail]?.name
    case Reason.unsupported:
      return grounds?.(detail) ?? [...type.support, ...type.gate][detail]?.name
    case Reason.prerequisite_missing:
      return catalog.types[detail]?.name
    case Reason.unknown_prerequisite:
    case Reason.prerequisite_not_allowed:
    case Reason.prerequisite_failed:
    case Reason.prerequisite_lost:
    case Reason.prerequisite_not_ready:
    case Reason.approval_pending:
      return nameOf(detail)
    default:
      return undefined
  }
}

/** The text of the clause that failed, as the catalog has it. */
export function conditionText(
  catalog: Catalog,
  type: ComponentType,
  reason: Reason,
  detail: number | string | undefined,
): string | undefined {
  if (typeof detail !== 'number' || detail < 0) return undefined
  if (reason === Reason.unsupported) return [...type.support, ...type.gate][detail]?.text
  if (reason === Reason.changed) return `unchanged(state.${catalog.fields[detail]?.name})`
  return undefined
}

/** A field's value as it goes on the wire: enumerations by name. */
export function fieldValue(field: StateField, value: number): number | boolean | string {
  if (field.type === 'boolean') return value !== 0
  return field.members?.[value] ?? value
}

/** A field as it was judged. */
interface Seen {
  readonly value: number | boolean | string | null
  readonly validity: Exclude<Validity, 'usable'> | undefined
  readonly age_ms: number | undefined
  readonly version: number | undefined
}

/** Values, ages and versions of fields as they are judged now; what is not usable is null, with the word why. */
export function footprint(catalog: Catalog, core: Core, fields: readonly number[], now_ms: number) {
  const seen: Record<string, Seen> = {}
  for (const index of fields) {
    const field = catalog.fields[index]!
    const { validity, value, age_ms, version } = core.read(index, now_ms)
    const known = validity !== 'unknown'
    seen[field.name] = {
      value: validity === 'usable' ? fieldValue(field, value) : null,
      validity: validity === 'usable' ? undefined : validity,
      age_ms: known ? Math.round(age_ms) : undefined,
      version: field.continuous ? undefined : version,
    }
  }
  return seen
}

/** A bound payload by the names of its fields, enumeration members by name. */
export function payloadByName(type: ComponentType, slots: readonly SlotValue[]): Record<string, unknown> {
  const named: Record<string, unknown> = {}
  for (const [slot, { name, kind, values }] of type.payload.entries()) {
    const value = slots[slot]
    if (value === undefined) continue
    named[name] = kind === 'boolean' ? value !== 0 : kind === 'enum' ? values?.[value as number] : value
  }
  return named
}

/** The value of an `outcome/<agent>` message. */
export function outcome(
  i: Instance,
  wall_ms: number,
  reason: Reason,
  detail: string | undefined,
  opensNone: boolean,
): unknown {
  return {
    v: 1,
    plan: i.plan.name,
    component: i.id,
    generation: i.generation,
    sequence: i.sequence,
    at: wall_ms,
    phase: phaseWord(i.phase),
    reason: reasonWord(reason),
    detail,
    obligation: opensNone ? null : undefined,
  }
}

/** The value of an `end/<agent>` message. The newest ends come first: where there is no room for all, the oldest are left out. */
export function endValue(plan: string, wall_ms: number, why: Reason, ends: ReadonlyMap<string, End>) {
  const told = [...ends].reverse().map(([id, { generation, phase, reason, detail }]) => {
    return [id, { generation, phase: phaseWord(phase), reason: reasonWord(reason), detail }] as const
  })
  return { v: 1, plan, at: wall_ms, reason: reasonWord(why), ends: Object.fromEntries(told) }
}

const reasonWord = (reason: Reason): string | undefined => (reason === Reason.none ? undefined : ReasonWords[reason])
