import { InvalidArgumentError, Option, type Command } from 'commander'
import { priorities, type Priority } from '../../src/contract/cards/cardPlan.ts'
import { addChoiceOptions, type ChoiceOptions } from '../agents/agentOption.ts'
import { names } from '../cards/planOptions.ts'
import { addPromptOptions, type PromptOptions } from '../input/promptOption.ts'
import { collect, durationSecs } from '../parsing/arguments.ts'

/** The timing options of a schedule as typed. `every` is in seconds. */
export interface TimingOptions {
  cron?: string
  every?: number
  timeZone?: string
  overlap?: 'skip' | 'queue' | 'add'
  catchUp?: 'none' | 'one'
}
/** The template options of a schedule as typed. */
export interface TemplateOptions extends PromptOptions, ChoiceOptions {
  column?: string
  label?: string[]
  assignee?: string[]
  priority?: Priority
  worktree?: boolean
  auto?: boolean
}

export const addTimingOptions = (command: Command): Command =>
  command
    .option('--cron <expression>', 'when: minute, hour, day of the month, month, day of the week ("0 9 * * 1-5")')
    .addOption(new Option('--every <time>', 'how often: 15m, 2h, 1d, at least 60s').argParser(wholeSecs))
    .option('--time-zone <zone>', "the zone of the cron expression, such as Europe/Berlin (default: the server's)")
    .addOption(
      new Option('--overlap <how>', 'while its last card is open: leave a run out, let one wait, or add it').choices([
        'skip',
        'queue',
        'add',
      ]),
    )
    .addOption(
      new Option('--catch-up <how>', 'after downtime: no run, or one for all that were missed').choices([
        'none',
        'one',
      ]),
    )

export const addTemplateOptions = (command: Command): Command =>
  addChoiceOptions(
    addPromptOptions(command)
      .option('-c, --column <column>', 'the column of its cards, by name or id; none for the first')
      .option('-l, --label <label>', 'label of its cards (repeat it; none for none)', collect)
      .option(
        '-a, --assignee <people>',
        'assignees of its cards, comma-separated: me, names or IDs; none for no assignee',
        names,
      )
      .addOption(new Option('--priority <priority>', 'priority of its cards').choices(priorities.toReversed())),
    'the agent that works on them; none for that of their column or project',
  )
    .option('--worktree', 'create a worktree for each card')
    .option('--no-worktree', "run the agents in the project's folder")
    .option('--auto', 'switch their auto mode on')
    .option('--no-auto', 'switch their auto mode off')

function wholeSecs(text: string): number {
  const secs = durationSecs(text)
  if (!Number.isInteger(secs) || secs < 60) throw new InvalidArgumentError('must be at least 60s.')
  return secs
}
