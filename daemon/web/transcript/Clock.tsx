import { dated } from '../ui/Time.tsx'

/** The time of day at which something was said. */
export const Clock = ({ at }: { at: string }) => (
  <time dateTime={at} title={dated(at, 'second')}>
    {dated(at, 'clock')}
  </time>
)
