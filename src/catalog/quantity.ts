// Numbers with their units, as a catalog writes them: `10s`, `300ms`, `5min`, `1h`, `10Hz`, `1m`, `1e-5deg`.

const QUANTITY = /^(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([a-zA-Z%/]*)$/

/** Number and unit, or undefined for anything else. */
export function quantity(text: string): { readonly number: number; readonly unit: string } | undefined {
  const match = QUANTITY.exec(text.trim())
  return match === null ? undefined : { number: Number(match[1]), unit: match[2]! }
}

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000 }

/** A duration in ms; 0 needs no unit. Undefined for anything else. */
export function duration(written: unknown): number | undefined {
  if (written === 0) return 0
  if (typeof written !== 'string') return undefined
  const q = quantity(written)
  const unit_ms = q && MILLISECONDS[q.unit]
  return unit_ms === undefined ? undefined : q!.number * unit_ms
}

/** A rate in Hz, or undefined. */
export function rate(written: unknown): number | undefined {
  if (typeof written !== 'string') return undefined
  const q = quantity(written)
  return q?.unit === 'Hz' && q.number > 0 ? q.number : undefined
}
