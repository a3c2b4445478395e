import * as v from 'valibot'
import { Count } from '../fields.ts'

/** `missing`: the forge no longer has such an issue. */
export const IssueState = v.picklist(['open', 'closed', 'missing'])
export type IssueState = v.InferOutput<typeof IssueState>

/** The issue on the forge that a card was created from, in the last state that the board read. */
export const IssueSummary = v.object({ number: Count, url: v.string(), state: IssueState })
export type IssueSummary = v.InferOutput<typeof IssueSummary>
