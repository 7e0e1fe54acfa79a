// Frame templates of a profile, by the names of MAVLink fields, to the core's: offsets, formats, expressions (PROTOCOL 3, 6).

import { ENTRIES_MAX, FRAME_BYTES_MAX } from '../../build/abi.ts'
import { layout } from '../autopilot/frame.ts'
import type { FrameTemplate } from '../autopilot/profile.ts'
import type { Expression } from '../core/expression.ts'
import type { EntryImage, FrameImage } from '../core/image.ts'
import { ClauseError, compileNumber, type Scope } from './clause.ts'

const number = (value: number): Expression => ({ op: 'number', value })

/** Throws ClauseError where a value does not fit the type's payload, and Error where the template itself is wrong. */
export function frameImage(template: FrameTemplate, sends: number, scope: Scope): FrameImage {
  const { id, length, fields } = layout(template.message)
  const at = (name: string) => {
    const field = fields[name]
    if (field === undefined) throw new Error(`frame ${template.message} has no field \`${name}\``)
    return field
  }
  const compile = (name: string, text: string): Expression => {
    try {
      return compileNumber(text, scope)
    } catch (error) {
      if (!(error instanceof ClauseError)) throw error
      throw new ClauseError(error.position, `frame ${template.message}.${name}: ${error.message}`)
    }
  }
  const entries = Object.entries(template.values).map(([name, written]): EntryImage => {
    const { offset, format } = at(name)
    const part = template.position?.lat === name ? 'lat' : template.position?.lon === name ? 'lon' : undefined
    if (written === 'nan' && format !== 'f32')
      throw new Error(`frame ${template.message}.${name}: only a float can be NaN`)
    const value = typeof written === 'number' ? number(written) : written === 'nan' ? written : compile(name, written)
    return { offset, format, value, ...(part && { position: part }) }
  })
  if (length > FRAME_BYTES_MAX)
    throw new Error(`frame ${template.message} has ${length} bytes, at most ${FRAME_BYTES_MAX}`)
  if (entries.length > ENTRIES_MAX) {
    throw new Error(`frame ${template.message} has ${entries.length} values, at most ${ENTRIES_MAX}`)
  }
  return { message: id, length, entries, stamp: template.stamp === undefined ? -1 : at(template.stamp).offset, sends }
}
