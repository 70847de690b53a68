-- The newest permit that this database has seen, for each slot of each semaphore.
CREATE TABLE volt_fences (
  resource     text   NOT NULL, -- the name of the semaphore
  slot         bigint NOT NULL,
  era          bigint NOT NULL,
  epoch        bigint NOT NULL,
  grant_number bigint NOT NULL,
  PRIMARY KEY (resource, slot)
) WITH (fillfactor = 50);

-- To be called first in each transaction that writes with a permit. Raises an exception if a newer
-- permit of the slot has been here. Until the transaction ends, others of the same slot wait here.
CREATE FUNCTION volt_fence(resource text, slot bigint, era bigint, epoch bigint,
                           grant_number bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO volt_fences AS newest VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT ON CONSTRAINT volt_fences_pkey DO UPDATE
    SET era = excluded.era, epoch = excluded.epoch, grant_number = excluded.grant_number
    WHERE (newest.era, newest.epoch, newest.grant_number)
       <= (excluded.era, excluded.epoch, excluded.grant_number);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the permit of slot % of % is not the newest one', $2, $1
      USING ERRCODE = 'VF001', HINT = 'The lease was lost: another host has the slot. Do not retry.';
  END IF;
END $$;
