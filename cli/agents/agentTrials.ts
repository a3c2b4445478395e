import { setTimeout as delay } from 'node:timers/promises'
import type { AgentCheck } from '../../src/contract/agents/agentCatalogue.ts'
import { createSemaphore } from '../../src/async/semaphore.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { pickNamed } from '../context/resolve.ts'
import { describeError } from '../failures/report.ts'
import { Failure, usage } from '../failures/failure.ts'
import { confirm } from '../input/prompt.ts'
import type { Column } from '../output/output.ts'
import { truncate } from '../output/text.ts'

export type Provider = Output<Contract['agents']['providers']>[number]
export interface TrialOptions {
  start?: boolean
  greet?: boolean
  yes?: boolean
}

const maxAtOnce = 2
const askEveryMs = 400
/** The server waits up to two minutes for an agent's answer. Starting an agent has separate limits. */
const maxWaitMs = 300_000
const maxNames = 4
const maxReason = 120

/** The version of an agent, and whether the board was tested with that version. */
export const versionFields: Column<Provider>[] = [
  { name: 'version', value: agent => agent.version },
  { name: 'tried', spare: true, value: triedWith },
  { name: 'signedIn', header: 'SIGNED IN', value: ({ signedIn }) => (signedIn === null ? 'unknown' : signedIn) },
]
const columns: Column<Provider>[] = [
  { name: 'id', style: 'id', value: agent => agent.id },
  {
    name: 'installed',
    style: 'text',
    value: ({ installed, path, install }) =>
      installed ? (path ?? 'yes') : `no${install === null ? '' : `: ${install}`}`,
  },
  ...versionFields,
  { name: 'modes', style: 'text', value: agent => summarizeOffers(agent.modes) },
  { name: 'models', style: 'text', value: agent => summarizeOffers(agent.models) },
  { name: 'check', style: 'text', value: ({ check }) => check && describeEnd(check) },
  { name: 'checkedAt', header: 'CHECKED', style: 'time', value: ({ check }) => check?.endedAt },
]

/**
 * Shows the server's information about agents. Starts the agents on trial first if the options request that.
 * @throws Failure (not found) if an agent does not exist, (failure) if an agent failed to start
 */
export async function tryAgents(
  context: Context,
  names: readonly string[],
  { start, greet = false, yes }: TrialOptions,
): Promise<void> {
  const { client, out } = context
  const known = await client.agents.providers()
  const ids = [...new Set(names.map(name => pickNamed('agent', known, name, 'board agents providers').id))]
  const isMeant = ({ id }: Provider) => ids.length === 0 || ids.includes(id)
  if (!start && !greet) return out.list(known.filter(isMeant), columns)
  // Without names, agents that are not installed are skipped.
  const tried = known.filter(agent => isMeant(agent) && (agent.installed || ids.length > 0))
  if (tried.length === 0) throw new Failure('failure', 'no agent is installed', { see: 'board agents providers' })
  if (greet) await confirmCost(context, tried, yes)
  const failures = await runAll(context, tried, greet)
  const after = (await client.agents.providers()).filter(({ id }) => tried.some(each => each.id === id))
  await out.list(after, columns)
  if (greet) out.done(costOf(after.filter(({ id }) => !failures.has(id))))
  const reasons = tried.flatMap(({ id }) =>
    failures.has(id) ? `${id} (${truncate(failures.get(id)!, maxReason)})` : [],
  )
  if (failures.size > 0)
    throw new Failure('failure', `${failures.size} of ${tried.length} agents failed: ${reasons.join(', ')}`)
}

async function confirmCost(context: Context, tried: readonly Provider[], yes: boolean | undefined): Promise<void> {
  const what = `${tried.map(({ id }) => id).join(', ')} ${tried.length === 1 ? 'is' : 'are'} asked for one sentence, which costs tokens`
  if (yes) context.out.done(`${what}.`)
  else await confirm(context, `${what}. Continue?`, yes)
}

/** Starts the agents, two at a time. @returns the reason of each failure, by agent ID */
async function runAll(context: Context, tried: readonly Provider[], greet: boolean): Promise<Map<string, string>> {
  const turn = createSemaphore(maxAtOnce)
  const failures = new Map<string, string>()
  const progress = context.out.progress(greet ? 'Asking agents' : 'Starting agents', tried.length)
  await Promise.all(
    tried.map(({ id, installed }) =>
      turn(async () => {
        const why = installed ? await run(context, id, greet) : 'not installed'
        if (why !== undefined) failures.set(id, why)
        progress.step()
      }),
    ),
  ).finally(() => progress.done())
  return failures
}

/** Starts one agent and waits for the result. @returns the reason if it failed */
async function run({ client }: Context, agent: string, greet: boolean): Promise<string | undefined> {
  try {
    await client.agents.check({ agent, greet })
  } catch (error) {
    const { exit, message } = describeError(error)
    if (exit === 'unreachable' || exit === 'denied') throw error
    return message
  }
  for (const untilMs = Date.now() + maxWaitMs; Date.now() < untilMs; await delay(askEveryMs)) {
    const check = (await client.agents.providers()).find(({ id }) => id === agent)?.check
    if (check?.status === 'failed') return check.detail ?? 'no reason was reported'
    if (check?.status === 'ok') return undefined
  }
  return `did not end within ${maxWaitMs / 60_000} minutes`
}

function triedWith({ version, tried }: Provider): string | null {
  if (tried === null) return null
  return version === tried ? 'tried' : `tried with ${tried}`
}

/** The number of offers, and the first ones. */
function summarizeOffers(offered: Provider['models']): string | null {
  if (offered.length === 0) return null
  const ids = offered.slice(0, maxNames).map(({ id }) => id)
  return `${offered.length}: ${[...ids, ...(offered.length > maxNames ? ['...'] : [])].join(', ')}`
}

function describeEnd({ status, greeted, detail, inputTokens, outputTokens }: AgentCheck): string {
  const tokens =
    inputTokens === null && outputTokens === null ? [] : [describeTokens(inputTokens ?? 0, outputTokens ?? 0)]
  const how = [...(greeted ? ['greeted'] : ['started']), ...tokens].join(', ')
  return `${status} (${how})${detail === null ? '' : `: ${detail}`}`
}

function costOf(greeted: readonly Provider[]): string {
  const checks = greeted.flatMap(({ check }) => check ?? [])
  const silent = checks.filter(({ inputTokens, outputTokens }) => inputTokens === null && outputTokens === null)
  const sum = (field: 'inputTokens' | 'outputTokens') => checks.reduce((total, check) => total + (check[field] ?? 0), 0)
  const unknown = silent.length === 0 ? '' : `, and ${silent.length} did not report the cost`
  return `It cost ${describeTokens(sum('inputTokens'), sum('outputTokens'))}${unknown}.`
}

const describeTokens = (input: number, output: number): string => `${input} tokens in, ${output} out`

/** @throws Failure (usage) if trial options are used for a topic other than agents */
export function requireTrial(what: string | undefined, { start, greet }: TrialOptions): void {
  if (what === undefined && (start || greet))
    throw usage(`--${greet ? 'greet' : 'start'} is for agents`, {
      hint: `board doctor agents --${greet ? 'greet' : 'start'}`,
    })
  if (what !== undefined && what !== 'agents')
    throw usage(`doctor has no checks for "${what}"`, {
      hint: 'did you mean: board doctor agents',
      see: 'board doctor --help',
    })
}
