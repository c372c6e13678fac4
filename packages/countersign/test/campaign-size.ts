// How large the crash and fuzz campaigns are. `npm test` runs a size that still finds planted faults;
// `npm run campaigns` sets COUNTERSIGN_CAMPAIGNS=full and runs everything.
export const isFullCampaign = process.env.COUNTERSIGN_CAMPAIGNS === 'full';

/** Picks the size of a campaign. */
export function campaignSize<T>(usual: T, full: T): T {
  return isFullCampaign ? full : usual;
}
