import * as v from 'valibot'

/**
 * The action for an agent that shows no sign of life for a long time (`board serve --agent-silence`):
 * - wait: users are notified once, as for an agent that waits for them, and the agent can continue.
 * - end: its session fails.
 */
export const OnSilence = v.picklist(['wait', 'end'], 'must be wait or end')
export type OnSilence = v.InferOutput<typeof OnSilence>
