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
/** The maximum duration of each command except `preview`. */
const Minutes = integer(1, 240)
const maxPatterns = 100
/**
 * Patterns of ignored files that are copied into each new worktree, in the syntax of gitignore. The last matching pattern
 * decides.
 */
const patterns = <Item extends v.GenericSchema<string, string>>(item: Item) =>
  v.pipe(v.array(item), v.maxLength(maxPatterns, `must have at most ${maxPatterns} entries`))
const CopiedFiles = patterns(text(1, 500))
const leavesFolder = /^!?(~\/|(.*\/)?\.\.\s*(\/|$))/
/** Patterns that a user sets. Earlier versions accepted others. */
const ChangedCopiedFiles = patterns(
  v.pipe(
    text(1, 500),
    v.check(pattern => !/[\r\n]/.test(pattern), 'must be one line'),
    v.check(
      pattern => !leavesFolder.test(pattern),
      "must not leave the project's folder, to which it is relative: config/*.local",
    ),
  ),
)

/**
 * How a card's worktree is prepared and served:
 * - setup: runs once in a new worktree; beforeRun and afterRun: before and after each session of an agent; cleanup: before the
 * worktree is removed.
 * - preview: serves the worktree at BOARD_PORT while a user views it.
 * - ports: the number of ports that are reserved for each card.
 * - subfolder: where the agent works.
 */
const fields = {
  setup: Command,
  beforeRun: Command,
  afterRun: Command,
  cleanup: Command,
  preview: Command,
  subfolder: Subfolder,
  ports: Ports,
  minutes: Minutes,
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
export const ChangedWorktree = v.partial(v.strictObject({ ...own, copiedFiles: ChangedCopiedFiles }))

/** `board.json` in a project's folder. */
export const BoardFile = v.strictObject({
  $schema: v.optional(text(0, 1000)),
  ...(mapFields((name, schema) => v.optional(schema, noWorktreeSettings[name])) as {
    [Name in keyof Fields]: v.OptionalSchema<Fields[Name], EffectiveWorktree[Name]>
  }),
  copiedFiles: v.optional(ChangedCopiedFiles, []),
})

/**
 * A project's `board.json`. `version` identifies its content. Nothing of it is used unless a member has agreed to this version
 * since it last changed, or the base branch has exactly a version that a member agreed to earlier. `problem` is the reason if it
 * cannot be used.
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
