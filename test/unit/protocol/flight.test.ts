import { describe, expect, it } from 'vitest'
import { loadCore } from '../../../src/core/wasm.ts'
import { goto, notice, range, Stage } from './stage.ts'

describe('smoke', () => {
  it('flies a goto', () => {
    const stage = new Stage(loadCore).fly()
    const verdict = stage.say([notice('n'), range, goto('g', 30)])
    console.log(JSON.stringify(verdict))
    stage.run(2000)
    console.log(stage.phases('g'), stage.phases('n'), stage.phases('range'), stage.modesSent(), stage.setpoints().length)
    stage.set({ 'position.lat': goto('g', 30).payload!.lat as number })
    stage.run(3000)
    console.log(stage.phases('g'), stage.modesSent(), stage.setpoints().length)
    expect(stage.log.filter(l => l.level !== 'info')).toEqual([])
  })
})
