import * as v from 'valibot'
import { Count } from './fields.ts'

/** `missing`: the forge has no such issue any more. */
export const IssueState = v.picklist(['open', 'closed', 'missing'])
export type IssueState = v.InferOutput<typeof IssueState>

/** The issue on the forge that a card was made from, as the board saw it last. */
export const IssueSummary = v.object({ number: Count, url: v.string(), state: IssueState })
export type IssueSummary = v.InferOutput<typeof IssueSummary>
