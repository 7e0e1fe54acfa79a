// The library's door: what a program needs that runs HALO on a port of its own (docs/embedding.md), or that speaks to one.
// AgentSpec is behind `halo-runtime/agentspec`, and the rules of a runtime behind `halo-runtime/policy`: nobody else loads a grammar.

export { ardupilotCopter } from './autopilot/ardupilot-copter.ts'
export type { Profile } from './autopilot/profile.ts'
export { px4Multirotor } from './autopilot/px4-multirotor.ts'
export { type Catalog, CatalogError, type Problem } from './catalog/catalog.ts'
export { type LoadOptions, loadCatalog } from './catalog/load.ts'
export type { CoreFactory, CoreFrame } from './core/core.ts'
export { CORE_HASH, loadCore } from './core/wasm.ts'
export type { Acknowledgement, Intent, Journal, JournalEntry, Port, Publication } from './engine/port.ts'
export { type LogEvent, Runtime, type RuntimeOptions } from './engine/runtime.ts'
export { warm } from './engine/warmup.ts'
export type { Observation, Report, ReportedTarget } from './telemetry/report.ts'
export { Telemetry } from './telemetry/telemetry.ts'
export { encode } from './wire/write.ts'
