import { InvalidArgumentError } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { chosenAgent } from '../agents/agentOption.ts'
import type { Context } from '../context/context.ts'
import { resolveCredential } from '../context/resolve.ts'
import { noneAsEmpty } from '../parsing/arguments.ts'

type Limits = Output<Contract['projects']['get']>['usageLimits']
type Change = NonNullable<Parameters<Context['client']['projects']['update']>[0]['usageLimits']>

const choices = ['stop', 'wait', 'next'] as const
/** The action for a card whose agent has reached a usage limit. */
export type OnLimit = (typeof choices)[number]

export function onLimitOf(text: string): OnLimit {
  const found = choices.find(choice => choice === text)
  if (!found) throw new InvalidArgumentError('must be stop, wait or next.')
  return found
}

/**
 * Returns the change of a project's usage limits. Returns undefined if no option is set. Settings without an option are
 * unchanged, except that a list of agents implies `next`.
 * @throws Failure (not found)
 */
export async function changedLimits(
  context: Context,
  projectId: string,
  { onLimit, next }: { onLimit?: OnLimit; next?: readonly string[] },
): Promise<Change | undefined> {
  if (onLimit === undefined && next === undefined) return undefined
  const { usageLimits: before } = await context.client.projects.get({ id: projectId })
  const given = noneAsEmpty(next)
  const entries = given === undefined ? before.next : await Promise.all(given.map(entry(context)))
  const implied = given === undefined || given.length === 0 ? before.onLimit : 'next'
  return { onLimit: onLimit ?? implied, next: entries }
}

/** Parses AGENT[:PROFILE][:CREDENTIAL]. Each part can be empty. */
const entry =
  (context: Context) =>
  async (text: string): Promise<NonNullable<Change['next']>[number]> => {
    const [agent, profile, ...rest] = text.split(':')
    const credential = rest.join(':')
    return {
      agent: agent ? ((await chosenAgent(context, agent)) ?? null) : null,
      profile: profile || null,
      credentialId: credential ? (await resolveCredential(context, credential)).id : null,
    }
  }

/** Formats the setting: `next: codex, claude:gateway:3, then wait`. Entries have the format of the option. */
export function describeLimits({ onLimit, next }: Limits): string {
  const entries = next.map(({ agent, profile, credentialId }) =>
    [agent, profile, credentialId]
      .map(part => part ?? '')
      .join(':')
      .replace(/:+$/, ''),
  )
  return onLimit === 'next' ? `next: ${[...entries, 'then wait'].join(', ')}` : onLimit
}
