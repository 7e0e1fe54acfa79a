// The other end of `Program`: what a process of the live rig says to the one that started it, and that it does not outlive it.

/** `figures` is asked each time the parent wants them. */
export function ready(figures: () => unknown = () => undefined): void {
  process.on('message', () => process.send!(figures()))
  process.on('disconnect', () => process.exit(1))
  if (!process.connected) process.exit(1)
  // A terminal interrupts the whole group: the parent ends its parts in order.
  process.on('SIGINT', () => {})
  process.send!('ready')
}
