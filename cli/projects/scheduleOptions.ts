import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Priority } from '../../src/contract/cards/cardPlan.ts'
import { choiceValues } from '../../src/contract/cards/planFields.ts'
import { addChoiceOptions, type ChoiceOptions } from '../agents/agentOption.ts'
import { parseNames } from '../cards/planOptions.ts'
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
    .option(
      '--cron <expression>',
      'cron expression: minute, hour, day of the month, month, day of the week ("0 9 * * 1-5")',
    )
    .addOption(new Option('--every <time>', 'interval: 15m, 2h, 1d (minimum: 60s)').argParser(wholeSecs))
    .option('--time-zone <zone>', "time zone of the cron expression, such as Europe/Berlin (default: the server's)")
    .addOption(
      new Option(
        '--overlap <how>',
        'if the previous card is still open: skip the run, queue one run, or add the card anyway',
      ).choices(['skip', 'queue', 'add']),
    )
    .addOption(
      new Option('--catch-up <how>', 'runs after downtime: none, or one for all missed runs').choices(['none', 'one']),
    )

export const addTemplateOptions = (command: Command): Command =>
  addChoiceOptions(
    addPromptOptions(command)
      .option('-c, --column <column>', 'column of its cards (name or ID); none for the first column')
      .option('-l, --label <label>', 'label of its cards (repeatable; none removes all)', collect)
      .option(
        '-a, --assignee <people>',
        'assignees of its cards, comma-separated: me, names or IDs; none for no assignee',
        parseNames,
      )
      .addOption(new Option('--priority <priority>', 'priority of its cards').choices(choiceValues('priority'))),
    'agent of its cards; none for that of the column or project',
  )
    .option('--worktree', 'create a worktree for each card')
    .option('--no-worktree', "run the agents in the project's folder")
    .option('--auto', 'turn on auto mode for its cards')
    .option('--no-auto', 'turn off auto mode for its cards')

function wholeSecs(text: string): number {
  const secs = durationSecs(text)
  if (!Number.isInteger(secs) || secs < 60) throw new InvalidArgumentError('must be at least 60s.')
  return secs
}
