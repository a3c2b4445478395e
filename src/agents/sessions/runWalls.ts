import type { Log } from '../../config/log.ts'
import { authority } from '../../contract/networkHosts.ts'
import type { AskedHost } from '../../sandbox/network/askedHosts.ts'
import type { SessionRecord } from './sessionRecord.ts'
import type { Walls } from './walls.ts'

/** What a run tells of its walls, and takes over from behind them. Nothing here fails the run. */
export class RunWalls {
  #walls: Walls | null = null
  readonly #record: SessionRecord
  readonly #log: Log

  constructor(record: SessionRecord, log: Log) {
    this.#record = record
    this.#log = log
  }

  /** Sets what keeps the run apart, null for nothing. Await it before the agent starts: its monitors depend on it. */
  async use(walls: Walls | null): Promise<void> {
    this.#walls = walls
    await this.note()
  }

  /** Writes what keeps the agent apart, and for which hosts it has asked. */
  async note(): Promise<void> {
    const { kind = 'none', network = 'full' } = this.#walls ?? {}
    await this.#record.noteSandbox({ kind, network, asked: this.#walls?.asked() ?? [] }).catch(ignore)
  }

  /** Says in the transcript that a host was refused, and how to allow it. */
  noteRefused(projectId: number, { host, port }: AskedHost): void {
    const entry = port === 80 || port === 443 ? host : authority(host, port)
    const text = `The network of the sandbox has refused ${authority(host, port)}. To allow it: board projects sandbox ${projectId} --allow ${entry}`
    void this.#record.note(text, () => this.note()).catch(ignore)
  }

  /** Closes the session's control group and mounted folders, once its processes have ended. */
  async lower(): Promise<void> {
    await this.#walls?.close()
  }

  /** Takes over what the agent has committed. What is refused stays in its worktree's own Git folder. */
  async takeCommits(): Promise<void> {
    const taken = await this.#walls?.takeCommits().catch((cause: unknown) => {
      this.#log('error', 'The commits of an agent could not be taken over.', { cause: String(cause) })
    })
    if (taken?.state === 'refused')
      await this.#record.note(`Its commits could not be taken over: ${taken.reason}`, async () => {}).catch(ignore)
  }
}

/** The session was ended or deleted, or the server stops. */
const ignore = () => {}
