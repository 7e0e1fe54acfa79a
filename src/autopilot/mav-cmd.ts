// MAV_CMD by its names, as MAVLink's list of commands has them: whoever reviews a catalog reads DO_GRIPPER, not 211.

import { ardupilotmega, common } from 'node-mavlink'

/** Names without `MAV_CMD_`, in the order of the list. */
export const MAV_CMDS: ReadonlyMap<string, number> = new Map(
  [common.MavCmd, ardupilotmega.MavCmd].flatMap((list) =>
    Object.entries(list).flatMap(([name, id]) => (typeof id === 'number' ? [[name, id] as const] : [])),
  ),
)

const names = new Map([...MAV_CMDS].map(([name, id]) => [id, name]))

/** `34 (DO_ORBIT)`, or the number alone where the list has no name for it. */
export function mavCmd(id: number): string {
  const name = names.get(id)
  return name === undefined ? `${id}` : `${id} (${name})`
}
