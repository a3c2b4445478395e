import type { App } from '../../src/app.ts'
import type { Problem } from '../../src/contract/errors.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import type { Audited, Route } from '../../src/contract/route.ts'
import { auditActor } from '../../src/domain/accounts/auditEntries.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { insertAuditRow, type NewAuditRow } from '../../src/store/server/audit.ts'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import { findUserByEmail } from '../../src/store/accounts/users.ts'

type Fields = Readonly<Record<string, unknown>>
type Detail = Record<string, string | number | boolean | null>
type Work<T> = (tx: Transaction) => Promise<T>

/** The parts of an entry: the action, its target, and the fields of the input that it shows. */
export interface Described extends Audited {
  action: string
  /** The path parameters. The last one is the target, unless `audited` selects another one. */
  params: readonly string[]
}

/** How the audit log records a route of the contract; undefined for a route that is not recorded. */
export const describeAudited = (resource: string, name: string, { audited, path }: Route): Described | undefined =>
  audited && { ...audited, action: `${resource}.${name}`, params: paramsOf(path) }

const maxDetailLength = 500
/** Statuses of refused sign-ins. */
const refusals = new Set([401, 403, 429])

export type AuditDependencies = Pick<App, 'audit' | 'db'>

/**
 * The entry of one call in the audit log. It is written in the transaction of a change through `db` or `wrap`. Without such a change, it is
 * written after the handler and before the answer. Failed calls leave no entry, except sign-ins.
 */
export class AuditTrail {
  readonly #app: AuditDependencies
  readonly #described: Described
  readonly #caller: Caller | undefined
  readonly #address: string
  #input: Fields = {}
  #noted: Fields = {}
  #isWritten = false

  /** @param caller undefined on a public route */
  constructor(app: AuditDependencies, described: Described, caller: Caller | undefined, address: string) {
    this.#app = app
    this.#described = described
    this.#caller = caller
    this.#address = address
  }

  /** Stores the validated input of the call. */
  setInput(input: Fields): void {
    this.#input = input
  }

  /** Adds fields that the input lacks, for `id` and `detail` of the row to name. */
  addFields(noted: Fields): void {
    this.#noted = { ...this.#noted, ...noted }
  }

  /** Wraps a change so that it writes the entry in its transaction. */
  wrap<T>(work: Work<T>): Work<T> {
    return async tx => {
      const result = await work(tx)
      this.#isWritten = true
      if (this.#isAbout(result, tx.now)) insertAuditRow(tx, this.entry(result))
      return result
    }
  }

  /** The database for a change that does not go through `call.write`. */
  get db(): Database {
    const { db } = this.#app
    return { ...db, transaction: (work, actor) => db.transaction(this.wrap(work), actor) }
  }

  /** Writes the entry if no change has written it. */
  async finish(result?: unknown): Promise<void> {
    if (this.#isWritten || this.#described.only) return
    this.#isWritten = true
    await this.#app.audit.add(this.entry(result))
  }

  /** Omits the entry, because it was written elsewhere or there is nothing to record. */
  leaveOut(): void {
    this.#isWritten = true
  }

  /** Records a refused sign-in. Failures of other routes leave no entry. */
  async recordRefusal(problem: Pick<Problem, 'status' | 'code'>): Promise<void> {
    if (this.#caller || this.#isWritten || !(refusals.has(problem.status) || problem.code === 'EMAIL_TAKEN')) return
    const { email } = this.#input
    const user =
      typeof email === 'string' ? await findUserByEmail(this.#app.db, email).catch(() => undefined) : undefined
    await this.#app.audit.recordFailure({
      action: this.#described.action,
      address: this.#address,
      userId: user?.id ?? null,
      code: problem.code,
    })
  }

  /** @param result of the change, or else of the handler */
  entry(result?: unknown): NewAuditRow {
    const { action, target, params } = this.#described
    const sources = [this.#input, this.#noted, result]
    const targetId = this.#described.named ?? find(sources, this.#described.id ?? params.at(-1) ?? 'id')
    return {
      outcome: 'ok',
      action,
      ...(this.#caller ? auditActor(this.#caller) : signedInAccount(sources)),
      targetKind: target,
      targetId: targetId === undefined || targetId === null ? null : String(targetId).slice(0, maxDetailLength),
      address: this.#address,
      detail: JSON.stringify(this.#detail(sources)),
    }
  }

  #detail(sources: readonly unknown[]): Detail {
    const { detail = [], id, params } = this.#described
    const named = id ?? params.at(-1)
    const places = ['projectId', 'cardId'].filter(name => name !== named && Number(this.#input[name]) > 0)
    return Object.fromEntries(
      [...places, ...detail].flatMap(path => {
        const [name, from = name] = path.split('=') as [string, string?]
        const value = plainValue(find(sources, from))
        return value === undefined ? [] : [[name, value]]
      }),
    )
  }

  #isAbout(result: unknown, now: string): boolean {
    return this.#described.only !== 'starts' || startedIn(result, now)
  }
}

/** Whether a change of a card started its agent or its command. */
function startedIn(result: unknown, now: string): boolean {
  const { lastAgentAction } = (result ?? {}) as { lastAgentAction?: unknown }
  if (typeof lastAgentAction !== 'string') return false
  const { type, at } = JSON.parse(lastAgentAction) as { type?: string; at?: string }
  return type === 'queued' && at === now
}

/** Returns the first value at a path such as `user.id`. */
function find(sources: readonly unknown[], path: string): unknown {
  for (const source of sources) {
    let value: unknown = source
    for (const name of path.split('.'))
      value =
        value !== null && typeof value === 'object' && Object.hasOwn(value, name) ? (value as Fields)[name] : undefined
    if (value !== undefined) return value
  }
  return undefined
}

function plainValue(value: unknown): Detail[string] | undefined {
  if (Array.isArray(value))
    return value
      .filter(each => typeof each === 'string')
      .join(', ')
      .slice(0, maxDetailLength)
  if (typeof value === 'string') return value.slice(0, maxDetailLength)
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

type Actor = ReturnType<typeof auditActor>

/** The account that has just signed in. */
function signedInAccount(sources: readonly unknown[]): Actor {
  const [id, email] = [find(sources, 'user.id'), find(sources, 'user.email')]
  const via = { viaKind: 'sign-in', viaId: null }
  return id === undefined
    ? { actorKind: 'nobody', actorId: null, actorName: null, ...via }
    : { actorKind: 'user', actorId: Number(id), actorName: String(email), ...via }
}
