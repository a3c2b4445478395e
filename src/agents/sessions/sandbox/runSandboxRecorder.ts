import type { Log } from '../../../config/log.ts'
import { authorityOf } from '../../../contract/networkHosts.ts'
import type { AskedHost } from '../../../sandbox/network/askedHosts.ts'
import type { SessionRecord } from '../sessionRecord.ts'
import { noSandbox, type RunSandbox } from './runSandbox.ts'

/** Reports the sandbox of a run and takes over its results. Errors here never fail the run. */
export class RunSandboxRecorder {
  #sandbox = noSandbox
  readonly #record: SessionRecord
  readonly #log: Log

  constructor(record: SessionRecord, log: Log) {
    this.#record = record
    this.#log = log
  }

  /** Sets the run's sandbox. Await this before the agent starts, because the agent's monitors depend on it. */
  async use(sandbox: RunSandbox): Promise<void> {
    this.#sandbox = sandbox
    await this.note()
  }

  /** Records the sandbox, and the hosts that the agent requested. */
  async note(): Promise<void> {
    const { kind, network } = this.#sandbox
    await this.#record.noteSandbox({ kind, network, asked: this.#sandbox.asked() }).catch(ignore)
  }

  /** Notes in the transcript that a host was refused, and how to allow it. */
  noteRefused(projectId: number, { host, port }: AskedHost): void {
    const entry = port === 80 || port === 443 ? host : authorityOf(host, port)
    const text = `The sandbox has blocked a connection to ${authorityOf(host, port)}. To allow it: board projects sandbox ${projectId} --allow ${entry}`
    void this.#record.note(text, () => this.note()).catch(ignore)
  }

  /** Transfers the agent's commits to the repository. Refused commits stay in the Git folder of the worktree. */
  async takeCommits(): Promise<void> {
    const taken = await this.#sandbox.takeCommits().catch((cause: unknown) => {
      this.#log('error', 'The commits of an agent could not be transferred to the repository.', {
        cause: String(cause),
      })
    })
    if (taken?.state === 'refused')
      await this.#record
        .note(`Its commits could not be transferred to the repository: ${taken.reason}`, async () => {})
        .catch(ignore)
  }
}

/** The session was ended or deleted, or the server stops. */
const ignore = () => {}
