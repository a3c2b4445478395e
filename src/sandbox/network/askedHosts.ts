import { authorityOf } from '../../contract/networkHosts.ts'
import type { Target } from '../../egress/guardedConnect.ts'

const maxHosts = 200

/** A host that an agent requested, how often, and whether it was allowed. */
export interface AskedHost extends Target {
  isAllowed: boolean
  count: number
}

/** The hosts that a session's agent has requested from the proxy. Keeps only the first 200 hosts. */
export interface AskedHosts {
  note(target: Target, isAllowed: boolean): void
  list(): AskedHost[]
}

/** @param onFirst called on the first request for each host */
export function createAskedHosts(onFirst: (asked: AskedHost) => void): AskedHosts {
  const hosts = new Map<string, AskedHost>()
  return {
    note: ({ host, port }, isAllowed) => {
      const key = `${isAllowed} ${authorityOf(host, port)}`
      const known = hosts.get(key)
      if (known) known.count++
      else if (hosts.size < maxHosts) {
        const asked = { host, port, isAllowed, count: 1 }
        hosts.set(key, asked)
        onFirst({ ...asked })
      }
    },
    list: () => [...hosts.values()].map(asked => ({ ...asked })),
  }
}
