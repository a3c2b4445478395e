import { parse, type IPv4, type IPv6 } from 'ipaddr.js'

/**
 * The metadata and platform services of clouds and hosting companies. They trust every request from the machine and answer with its
 * keys, so users' requests must not reach them. Some are ordinary public addresses that no registry of special-purpose addresses has;
 * the others are repeated here so that the list is complete.
 */
const platforms: ReadonlyArray<{ range: string; why: string }> = [
  { range: '168.63.129.16/32', why: "Azure: the platform's channel to each machine, itself a public address" },
  {
    range: '161.26.0.0/16',
    why: 'IBM Cloud: services inside its network, in a public range that is not routed elsewhere',
  },
  { range: '166.8.0.0/14', why: 'IBM Cloud: service endpoints inside its network, in a public range as well' },
  { range: '192.80.8.124/32', why: 'Equinix Metal: metadata, which identify a machine by its address' },
  {
    range: '169.254.0.0/16',
    why: 'link-local: metadata of AWS, Azure, Google, DigitalOcean, Hetzner, OpenStack and others',
  },
  { range: '100.64.0.0/10', why: 'shared addresses: 100.100.100.200 is the metadata of Alibaba Cloud' },
  { range: '192.0.0.0/24', why: 'protocol assignments: 192.0.0.192 is the metadata of Oracle Cloud' },
  { range: 'fd00:ec2::/32', why: 'AWS: metadata and its other services over IPv6' },
  { range: 'fd20:ce::254/128', why: 'Google Cloud: metadata over IPv6' },
]
/** Names of these services, which are refused before they are resolved. */
const names: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.azure.com',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'instance-data',
  'instance-data.ec2.internal',
])

const ranges = platforms.map(({ range }) => {
  const [network, bits] = range.split('/')
  return { network: parse(network!), bits: Number(bits) }
})

/** Whether a platform sends a machine data about itself at this address. */
export const isPlatformAddress = (address: IPv4 | IPv6): boolean =>
  ranges.some(({ network, bits }) => address.kind() === network.kind() && address.match(network, bits))

/** Whether a name belongs to a platform, with or without the trailing dot. */
export const isPlatformName = (name: string): boolean => names.has(name.toLowerCase().replace(/\.$/, ''))
