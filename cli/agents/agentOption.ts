import type { Command } from 'commander'
import type { AgentChoice } from '../../src/contract/agents/agentChoice.ts'
import type { Context } from '../context/context.ts'
import { pickNamed, resolveAgentProfile } from '../context/resolve.ts'

/** The agent options as typed. `none` restores the default of the next level. */
export interface ChoiceOptions {
  agent?: string
  /** An agent profile. `--profile` selects a server profile. */
  agentProfile?: string
  model?: string
  mode?: string
  effort?: string
}

/** The options that select an agent, for error hints. */
export const choiceFlags = '--agent, --agent-profile, --model, --mode, --effort'

/** Adds the options that choose an agent, its profile, model, mode and effort. */
export const addChoiceOptions = (command: Command, agent: string): Command =>
  command
    .option('--agent <agent>', agent)
    .option('--agent-profile <agent-profile>', 'profile of the agent (see: board agents profiles)')
    .option('--model <model>', 'model of the agent; none for its default')
    .option('--mode <mode>', 'mode of the agent; none for its default')
    .option('--effort <effort>', 'reasoning effort of the agent; none for its default')

export const isChosen = ({ agent, agentProfile, model, mode, effort }: ChoiceOptions): boolean =>
  [agent, agentProfile, model, mode, effort].some(value => value !== undefined)

/**
 * Returns the selected agent options as request fields. The server validates models, modes and efforts, because it
 * determines which agent runs.
 * @throws Failure (not found) if the agent or the profile does not exist
 */
export async function readAgentFields(
  context: Context,
  { agent, agentProfile, model, mode, effort }: ChoiceOptions,
): Promise<Partial<AgentChoice>> {
  return {
    agent: await chosenAgent(context, agent),
    profile: await chosenProfile(context, agentProfile),
    model: orNone(model),
    mode: orNone(mode),
    effort: orNone(effort),
  }
}

/**
 * The ID of the agent that an option sets: undefined without the option, null for `none`. With an API key, the ID is not
 * checked, because a key cannot list the agents.
 * @throws Failure (not found)
 */
export async function chosenAgent(
  { client, external }: Context,
  wanted: string | undefined,
): Promise<string | null | undefined> {
  const agent = orNone(wanted)
  if (external || !agent) return agent
  return pickNamed('agent', await client.agents.providers(), agent, 'board agents providers').id
}

/** The name of the agent profile that an option sets, as `chosenAgent`. @throws Failure (not found) */
export async function chosenProfile(context: Context, wanted: string | undefined): Promise<string | null | undefined> {
  const profile = orNone(wanted)
  if (context.external || !profile) return profile
  return (await resolveAgentProfile(context, profile)).name
}

const orNone = (wanted: string | undefined): string | null | undefined => (wanted === 'none' ? null : wanted)
