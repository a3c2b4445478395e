import * as v from 'valibot'
import { integer, text, Time } from '../fields.ts'

/** A shell command; empty: none. */
const Command = text(0, 4096)
/** A folder below the worktree's location in the repository: without `..`, not absolute; empty for that location itself. */
const Subfolder = v.pipe(
  text(0, 1000),
  v.check(
    path => !path.startsWith('/') && !path.includes('\\') && !path.split('/').includes('..'),
    'must be a folder below the project, such as packages/web',
  ),
)
export const maxPorts = 10
const Ports = integer(0, maxPorts)
const Minutes = integer(1, 240)
const maxPatterns = 100
const leavesFolder = /^!?(~\/|(.*\/)?\.\.\s*(\/|$))/
/**
 * Patterns of ignored files that are copied into each new worktree, in the syntax of gitignore. The last matching pattern
 * decides.
 */
const CopiedFiles = v.pipe(
  v.array(
    v.pipe(
      text(1, 500),
      v.check(pattern => !/[\r\n]/.test(pattern), 'must be one line'),
      v.check(
        pattern => !leavesFolder.test(pattern),
        "must not leave the project's folder, to which it is relative: config/*.local",
      ),
    ),
  ),
  v.maxLength(maxPatterns, `must have at most ${maxPatterns} entries`),
)

const withDescription = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(schema, v.description(description))

/** How a card's worktree is prepared and served. */
const fields = {
  setup: withDescription(
    Command,
    'Command that runs once in a new worktree, before its first agent. If it fails, the card fails with setup_failed, and the next start runs it again',
  ),
  beforeRun: withDescription(
    Command,
    'Command that runs before each session of an agent. If it fails, the card fails with setup_failed',
  ),
  afterRun: withDescription(
    Command,
    'Command that runs when the agent is finished, before the card is completed. Its commits belong to the work. It does not run after a stop, and only the transcript reports its failure',
  ),
  cleanup: withDescription(
    Command,
    'Command that runs before the board removes a worktree, also after the project was deleted. The log reports its failure, and the worktree is removed anyway',
  ),
  preview: withDescription(Command, 'Command that serves the worktree at BOARD_PORT while a person views the preview'),
  subfolder: withDescription(Subfolder, 'Folder of the worktree in which agents and commands work'),
  ports: withDescription(
    Ports,
    'Number of ports for each card, from 0 to 10: BOARD_PORT, BOARD_PORT_2 and so on, from 20000 to 32759',
  ),
  minutes: withDescription(Minutes, 'Time limit of each command except preview, in minutes'),
}

type Fields = typeof fields
/** Creates an entry for each field. */
const mapFields = (entryOf: (name: keyof Fields, schema: Fields[keyof Fields]) => unknown): object =>
  Object.fromEntries((Object.keys(fields) as (keyof Fields)[]).map(name => [name, entryOf(name, fields[name])]))

/** The effective settings of a project's worktrees. */
export const EffectiveWorktree = v.object({ ...fields, copiedFiles: CopiedFiles })
export type EffectiveWorktree = v.InferOutput<typeof EffectiveWorktree>
export const noWorktreeSettings: EffectiveWorktree = {
  setup: '',
  beforeRun: '',
  afterRun: '',
  cleanup: '',
  preview: '',
  subfolder: '',
  ports: 0,
  minutes: 10,
  copiedFiles: [],
}

const own = {
  ...(mapFields((_, schema) => v.nullable(schema)) as {
    [Name in keyof Fields]: v.NullableSchema<Fields[Name], undefined>
  }),
  copiedFiles: CopiedFiles,
}
/** A project's own settings. Null: the value of its `board.json`; copied files are those of both. */
export const WorktreeSettings = v.object(own)
export type WorktreeSettings = v.InferOutput<typeof WorktreeSettings>
export const defaultWorktree = mapFields(() => null) as { [Name in keyof Fields]: null }
/** Omitted fields are unchanged. */
export const ChangedWorktree = v.partial(v.strictObject({ ...own, copiedFiles: CopiedFiles }))

/** `board.json` in a project's folder. */
export const BoardFile = v.strictObject({
  $schema: v.optional(text(0, 1000)),
  ...(mapFields((name, schema) => v.optional(schema, noWorktreeSettings[name])) as {
    [Name in keyof Fields]: v.OptionalSchema<Fields[Name], EffectiveWorktree[Name]>
  }),
  copiedFiles: v.optional(
    withDescription(
      CopiedFiles,
      'Patterns of ignored files to copy into each new worktree, as in .gitignore: .env, config/*.local',
    ),
    [],
  ),
})

/**
 * A project's `board.json`. `version` identifies its content. The file is used only if a member has agreed to this version since the last
 * change, or if the base branch contains exactly a version that a member agreed to earlier. `problem` is the reason if it cannot be used.
 */
const FoundBoardFile = v.object({
  version: v.nullable(v.string()),
  problem: v.nullable(v.string()),
  settings: v.nullable(EffectiveWorktree),
  agreed: v.nullable(v.object({ by: v.nullable(v.string()), at: Time })),
})
export type FoundBoardFile = v.InferOutput<typeof FoundBoardFile>
/** `settings` are the project's own, `effective` are the resulting settings. */
export const ProjectWorktree = v.object({
  settings: WorktreeSettings,
  boardFile: v.nullable(FoundBoardFile),
  effective: EffectiveWorktree,
})
export type ProjectWorktree = v.InferOutput<typeof ProjectWorktree>
