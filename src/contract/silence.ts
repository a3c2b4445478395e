import * as v from 'valibot'

/**
 * What happens to an agent that shows no sign of life for long (`board serve --agent-silence`):
 * - wait: people are told once, as of an agent that waits for them, and it may go on.
 * - end: its session fails.
 */
export const OnSilence = v.picklist(['wait', 'end'], 'must be wait or end')
export type OnSilence = v.InferOutput<typeof OnSilence>
