import * as v from 'valibot'

/** A project's settings for cards that were merged. */
export const AfterMerge = v.strictObject({ moveToDone: v.boolean(), removeWorktree: v.boolean() })
export type AfterMerge = v.InferOutput<typeof AfterMerge>
export const ChangedAfterMerge = v.partial(AfterMerge)
export const defaultAfterMerge: AfterMerge = { moveToDone: false, removeWorktree: false }

/** The steps that followed a merge. `problem` is the reason why a step was not possible. */
export const DoneAfterMerge = v.object({
  movedToDone: v.boolean(),
  removedWorktree: v.boolean(),
  problem: v.nullable(v.string()),
})
export type DoneAfterMerge = v.InferOutput<typeof DoneAfterMerge>
