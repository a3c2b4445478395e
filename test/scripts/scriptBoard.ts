import { randomUUID } from 'node:crypto'
import type { Client } from '../../src/client/index.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'

export type ScriptStatus = Awaited<ReturnType<Client['scripts']['run']>>

/** A script of a project, and a text that only processes of its runs have in their command line: `$TAG` in its command. */
export interface TestScript {
  place: { projectId: string; scriptId: string }
  status(since?: number): Promise<ScriptStatus>
  /** The latest run once the condition is met. */
  until(what: string, fits: (run: ScriptStatus) => boolean, timeoutMs?: number): Promise<ScriptStatus>
  /** The latest run once it has ended. */
  ended(timeoutMs?: number): Promise<ScriptStatus>
  run(): Promise<ScriptStatus>
  /** The pids of the processes of its runs. */
  processes(): number[]
}

export async function newScript(
  client: Client,
  projectId: string,
  command: string,
  name = 'Script',
): Promise<TestScript> {
  const tag = `board-script-${randomUUID()}`
  const { id: scriptId } = await client.scripts.create({ projectId, name, command: command.replaceAll('$TAG', tag) })
  return scriptOf(client, { projectId, scriptId }, tag)
}

/** The script as another client sees it, of a restarted server. */
export function scriptOf(client: Client, place: TestScript['place'], tag: string): TestScript {
  const status = async (since?: number) =>
    (await client.scripts.status({ ...place, scriptId: Number(place.scriptId), since }))[0]!
  const until: TestScript['until'] = (what, fits, timeoutMs = 10_000) =>
    eventually(
      what,
      async () => {
        const run = await status()
        return fits(run) ? run : undefined
      },
      timeoutMs,
    )
  return {
    place,
    status,
    until,
    ended: timeoutMs => until('the end of the run', run => run.finishedAt !== null, timeoutMs),
    run: () => client.scripts.run(place),
    processes: () => processesWith(tag),
  }
}

/** A process that keeps running in a separate session, and ignores all signals except KILL. `$TAG` marks it. */
export const deafGrandchild = `setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' $TAG &`
