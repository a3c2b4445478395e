import { Session } from 'node:inspector'

/** Collects the garbage of this process at once. */
export function collectGarbage(): void {
  const session = new Session()
  session.connect()
  session.post('HeapProfiler.collectGarbage')
  session.disconnect()
}
